/** Prints a measured figure when TEST_FIGURES is set: what a test bounds, a report may want to quote. */
export function figure(text: string): void {
  if (process.env.TEST_FIGURES) process.stderr.write(`FIGURE ${text}\n`);
}
