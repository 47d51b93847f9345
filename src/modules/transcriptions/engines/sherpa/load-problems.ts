import os from 'node:os';

const OUT_OF_MEMORY = /bad_alloc|allocate|out of memory|OOM|SIGKILL/i;
/** Lines that say nothing: what V8 and glibc add, and a complaint of onnxruntime about the missing /proc of the sandbox. */
const NOISE = /^(\s*at |terminate called|Node\.js v|\s*$|Aborted|Error in cpuinfo)/;
const MAX_LENGTH = 300;

/**
 * Why a process that was to load the model ended, for an operator.
 * @param end such as `ended by SIGABRT`
 */
export function describeLoss(folder: string, limitBytes: number, end: string, said: string): string {
  const last = lastLine(said);
  if (OUT_OF_MEMORY.test(`${end} ${said}`)) {
    return (
      `The model in ${folder} needs more memory than the ${Math.round(limitBytes / 2 ** 20)} MB allowed for it, or than ` +
      'the machine has: set SHERPA_MEMORY_MB, or use a smaller model.'
    );
  }
  return `The model in ${folder} cannot be loaded (${end}${last === '' ? '' : `: ${last}`}). Download it again.`;
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => !NOISE.test(line));
  const [line = ''] = lines.slice(-1);
  const text = line.replace(/^\s*what\(\):\s*/, '').trim();
  // Where in its sources the library is comes first.
  return text.length > MAX_LENGTH ? `…${text.slice(-MAX_LENGTH)}` : text;
}

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
