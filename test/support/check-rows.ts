/**
 * Checks every row of a table, and shows all that fail together.
 * @param check of one row; the first column says what the row is about
 */
export async function checkRows<Row extends readonly [unknown, ...unknown[]]>(
  rows: readonly Row[],
  check: NoInfer<(...row: Row) => unknown>,
): Promise<void> {
  const problems: string[] = [];
  for (const row of rows) {
    try {
      await check(...row);
    } catch (error) {
      const about = typeof row[0] === 'string' ? row[0] : JSON.stringify(row[0]);
      problems.push(`${about}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (problems.length > 0) throw new Error(problems.join('\n\n'));
}
