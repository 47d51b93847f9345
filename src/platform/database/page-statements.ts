/** Conditions on a time: from the start of a day in UTC, or until its end. @param day placeholder of the date. */
export const fromDay = (column: string, day: string): string =>
  `${column} >= ${day}::date::timestamp AT TIME ZONE 'UTC'`;
export const untilDay = (column: string, day: string): string =>
  `${column} < (${day}::date + 1)::timestamp AT TIME ZONE 'UTC'`;

/** @param rows each with the total. An empty page has one row, whose other columns are null. */
export function toPage<Item extends { id: string }>(
  rows: readonly (Item & { total: number })[],
): { items: Item[]; total: number } {
  return { items: rows.filter(({ id }) => id !== null), total: rows[0]?.total ?? 0 };
}
