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
