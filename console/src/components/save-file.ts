/** Saves bytes as a file of this device. */
export function saveFile(bytes: Blob, name: string): void {
  const url = URL.createObjectURL(bytes);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  // The browser reads the URL after this turn.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
