/** Locks that all tabs of the browser share. Pages without TLS have none: there each tab is on its own. */
const locks = (): LockManager | undefined => navigator.locks;

/** Runs `work` while no other tab holds the lock. @returns false when one does */
export async function tryWithLock(name: string, work: () => Promise<void>): Promise<boolean> {
  const manager = locks();
  if (!manager) return work().then(() => true);
  return await manager.request(name, { ifAvailable: true }, async (lock) => {
    if (!lock) return false;
    await work();
    return true;
  });
}

/** Resolves when no other tab holds the lock any more; a closed tab holds none. */
export async function whenFree(name: string, signal: AbortSignal): Promise<void> {
  await locks()?.request(name, { signal }, () => Promise.resolve());
}

/** Holds the lock until the returned function is called, or the tab is closed. */
export function holdLock(name: string): () => void {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  void locks()?.request(name, () => held);
  return release;
}

export async function heldLocks(): Promise<Set<string>> {
  const { held = [] } = (await locks()?.query()) ?? {};
  return new Set(held.map(({ name }) => name ?? ''));
}

/** Held while a tab records the item: without it, what is being captured was interrupted. */
export const captureLock = (id: string): string => `capture:${id}`;

/** Held while a tab sends the item. */
export const uploadLock = (id: string): string => `upload:${id}`;
