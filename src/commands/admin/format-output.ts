type Row = Record<string, unknown>;

/** The columns of the lists that have more fields than fit into a line. */
const COLUMNS: Record<string, readonly string[]> = {
  backups: ['backup', 'at', 'finished_at', 'rows', 'objects', 'bytes', 'copied', 'missing'],
  accounts: ['id', 'name', 'email', 'plan', 'status', 'rate_limit', 'burst_limit', 'created_at'],
  retranscriptions: ['account_id', 'status', 'done', 'failed', 'pending', 'total', 'rate', 'model_not', 'started_at'],
  api_keys: ['id', 'name', 'key_prefix', 'status', 'last_used_at', 'expires_at', 'created_at', 'scopes'],
};
const SHOWN_ONCE = 'Store the secret now: it is shown only once.';

/** A command's JSON value for people: `name: value` lines, nested ones indented, and lists as tables. */
export function formatOutput(value: object): string {
  const lines = linesOf(value, '');
  return [...lines, ...('api_secret' in value ? ['', SHOWN_ONCE] : [])].join('\n');
}

function linesOf(value: object, indent: string): string[] {
  return Object.entries(value).flatMap(([name, item]: [string, unknown]) => {
    if (isRows(item)) return [`${indent}${name}:`, ...table(item, COLUMNS[name]).map((line) => `${indent}  ${line}`)];
    if (isObject(item)) return [`${indent}${name}:`, ...linesOf(item, `${indent}  `)];
    return `${indent}${name}: ${textOf(item)}`;
  });
}

function table(rows: Row[], columns: readonly string[] = Object.keys(rows[0] ?? {})): string[] {
  const cells = [columns, ...rows.map((row) => columns.map((column) => textOf(row[column])))];
  const widths = columns.map((_, column) =>
    cells.reduce((widest, line) => Math.max(widest, line[column]?.length ?? 0), 0),
  );
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const isRows = (item: unknown): item is Row[] => Array.isArray(item) && item.some(isObject);

const isObject = (item: unknown): item is object => typeof item === 'object' && item !== null && !Array.isArray(item);

function textOf(item: unknown): string {
  if (Array.isArray(item)) return item.join(',') || '-';
  if (item === null || item === undefined) return '-';
  return typeof item === 'string' ? item : JSON.stringify(item);
}
