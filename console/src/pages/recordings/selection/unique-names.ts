/** `note (2).txt` after `note.txt`. Many file systems take case for no difference. */
export function uniqueNames(): (name: string) => string {
  const taken = new Map<string, number>();
  return (name) => {
    const dot = name.lastIndexOf('.');
    let count = taken.get(name.toLowerCase()) ?? 0;
    let unique = name;
    while (taken.has(unique.toLowerCase())) {
      count += 1;
      unique = `${name.slice(0, dot)} (${count})${name.slice(dot)}`;
    }
    taken.set(name.toLowerCase(), Math.max(count, 1));
    taken.set(unique.toLowerCase(), taken.get(unique.toLowerCase()) ?? 1);
    return unique;
  };
}
