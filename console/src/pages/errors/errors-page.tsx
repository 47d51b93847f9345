export default function ErrorsPage() {
  return <h1>Errors</h1>;
}
