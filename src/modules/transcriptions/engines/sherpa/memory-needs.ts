import os from 'node:os';

/** Share of the machine's memory for all processes of the engine together. */
const SHARE = 0.8;
/** onnxruntime holds the file and the weights made of it at the same time while it loads. */
const TIMES_FILES = 3;
const WORKING_BYTES = 512 * 2 ** 20;
/** Resident once it is loaded: the weights and what a chunk of audio takes. */
const RESIDENT_TIMES_FILES = 1.5;
const RESIDENT_BYTES = 200 * 2 ** 20;

export interface MemoryNeeds {
  /** Private memory that a process may take for the model. */
  bytes: number;
  /** That fit into the machine's memory. */
  processes: number;
}

/** @param limitMb in place of the limit that follows from the size of the files */
export function memoryNeeds(fileBytes: number, limitMb: number | null, machineBytes = availableBytes()): MemoryNeeds {
  const bytes = limitMb === null ? WORKING_BYTES + TIMES_FILES * fileBytes : limitMb * 2 ** 20;
  const resident = RESIDENT_BYTES + RESIDENT_TIMES_FILES * fileBytes;
  return { bytes, processes: Math.max(1, Math.floor((SHARE * machineBytes) / resident)) };
}

/** Memory of the machine, or of the container if that may take less. */
function availableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem();
}
