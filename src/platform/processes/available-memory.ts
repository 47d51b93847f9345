import os from 'node:os';

/** Memory of the machine, or of the container if that may take less. */
export function availableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem();
}
