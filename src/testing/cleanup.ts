type Step = () => unknown;

/** Longer than the service takes to stop with transcriptions in progress, shorter than a hook of jest may take. */
const STEP_MS = 45_000;

/** Closes what a test opened: the latest first, each step with a time limit, and every step whatever the others do. */
export class Cleanup {
  private readonly steps: Step[] = [];

  add(step: Step): void {
    this.steps.push(step);
  }

  /** @throws AggregateError of the steps that failed. */
  async run(): Promise<void> {
    const problems: unknown[] = [];
    for (const step of this.steps.splice(0).toReversed()) {
      await withinLimit(step).catch((error: unknown) => problems.push(error));
    }
    if (problems.length > 0) throw new AggregateError(problems, `cleanup failed: ${problems.map(String).join('; ')}`);
  }
}

async function withinLimit(step: Step): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`a step took longer than ${STEP_MS} ms: ${String(step)}`)), STEP_MS);
  });
  try {
    await Promise.race([(async () => step())(), limit]);
  } finally {
    clearTimeout(timer);
  }
}
