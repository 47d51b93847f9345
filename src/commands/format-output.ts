/** A JSON value for people: `name: value` lines, nested ones indented. */
export function show(value: object, indent = ''): string {
  return Object.entries(value)
    .map(([name, item]: [string, unknown]) => {
      const nested = typeof item === 'object' && item !== null && !isPlainList(item);
      return nested ? `${indent}${name}:\n${show(item, `${indent}  `)}` : `${indent}${name}: ${text(item)}`;
    })
    .join('\n');
}

const isPlainList = (item: object): boolean => Array.isArray(item) && item.every((part) => typeof part !== 'object');

const text = (item: unknown): string => (Array.isArray(item) ? item.join(', ') : `${(item ?? '-') as string | number}`);
