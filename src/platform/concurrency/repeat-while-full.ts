/** So that one task of the reconciler does not keep the others waiting. */
const MAX_ROUNDS = 50;

/**
 * Repeats a statement with a LIMIT while it changes as many rows as it may.
 * @returns whether nothing is left.
 */
export async function repeatWhileFull(limit: number, change: () => Promise<number>): Promise<boolean> {
  for (let round = 0; round < MAX_ROUNDS; round++) if ((await change()) < limit) return true;
  return false;
}
