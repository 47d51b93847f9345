export default function RecordPage() {
  return <h1>Record</h1>;
}
