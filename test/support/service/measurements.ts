/** Prints a measured reportMeasurement when TEST_FIGURES is set: what a test bounds, a report may want to quote. */
export function reportMeasurement(text: string): void {
  if (process.env.TEST_FIGURES) process.stderr.write(`FIGURE ${text}\n`);
}
