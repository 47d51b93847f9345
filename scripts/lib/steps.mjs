const LABEL_WIDTH = 14;
const TIME_WIDTH = 8;

// Whoever reads our output may go away (`npm start | head`); the service goes on.
process.stdout.on('error', () => {});

let abandoned = 0;

/** Forgets the steps under way: when everything is being stopped, their end is no news. */
export function abandonSteps() {
  abandoned++;
}

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
  const start = performance.now();
  const generation = abandoned;
  const end = (detail) => {
    if (generation !== abandoned) return;
    const time = seconds(performance.now() - start);
    process.stdout.write(`${time.padStart(TIME_WIDTH)}   ${detail}\n`);
  };
  process.stdout.write(`  ${label.padEnd(LABEL_WIDTH)}`);
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
