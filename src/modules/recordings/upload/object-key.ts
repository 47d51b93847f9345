/** The key of a recording's object (D25). @param name of the file, with its format as the extension */
export function objectKeyOf(accountId: string, createdAt: Date, name: string): string {
  const month = createdAt.toISOString().slice(0, 'yyyy-mm'.length).replace('-', '/');
  return `${accountId}/${month}/${name}`;
}
