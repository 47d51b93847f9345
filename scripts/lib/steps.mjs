const LABEL_WIDTH = 14;
const TIME_WIDTH = 8;

// The reader of our output may end (`npm start | head`); the service must not.
process.stdout.on('error', () => {});

let interrupted = false;

/** An error whose message is all that the user needs: no stack is shown. */
export class UserError extends Error {}

/**
 * Runs one step of a command and prints it as one line with its time.
 * @template T
 * @param {string} label
 * @param {() => Promise<T> | T} work the step's result; a string, or a property `detail`, is shown on the line
 * @returns {Promise<T>}
 */
export async function step(label, work) {
  if (interrupted) throw new Error(`Interrupted before ${label}.`);
  process.stdout.write(labelOf(label));
  return await show('', work, () => !interrupted);
}

/** As `step`, for steps that run at the same time: the line is printed when the step has ended. */
export async function parallelStep(label, work) {
  if (interrupted) throw new Error(`Interrupted before ${label}.`);
  return await show(labelOf(label), work, () => !interrupted);
}

/** The step that ends a command early. Of those under way nothing more is shown, and no other begins. */
export function lastStep(label, work) {
  interrupted = true;
  process.stdout.write(`\n${labelOf(label)}`);
  return show('', work, () => true);
}

const labelOf = (label) => `  ${label.padEnd(LABEL_WIDTH)}`;

/** @param begin of the line that is printed at the end */
async function show(begin, work, isShown) {
  const start = performance.now();
  const end = (detail) => {
    const time = seconds(performance.now() - start).padStart(TIME_WIDTH);
    if (isShown()) process.stdout.write(`${begin}${time}   ${detail}\n`);
  };
  try {
    const result = await work();
    end(typeof result === 'string' ? result : (result?.detail ?? 'done'));
    return result;
  } catch (error) {
    end('failed');
    throw error;
  }
}

export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(milliseconds < 9950 ? 2 : 1)} s`;
}

export function printError(error) {
  console.error(`\n${error instanceof UserError ? error.message : (error?.stack ?? error)}\n`);
}
