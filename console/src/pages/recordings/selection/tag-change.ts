type Tags = Record<string, string>;

export interface TagChange {
  /** In place of the value that a key has. */
  add: Tags;
  /** Keys. */
  remove: readonly string[];
}

/** @returns null when nothing changes */
export function changedTags(before: Tags, { add, remove }: TagChange): Tags | null {
  const removed = new Set(remove);
  const kept = Object.entries(before).filter(([key]) => !removed.has(key));
  const isSame =
    kept.length === Object.keys(before).length && Object.entries(add).every(([key, value]) => before[key] === value);
  return isSame ? null : { ...Object.fromEntries(kept), ...add };
}
