export default function RecordingPage() {
  return <h1>Recording</h1>;
}
