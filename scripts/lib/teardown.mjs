/** What a command must stop before it ends, in the order of its parts' ranks: lower ranks first, equals together. */
export class Teardown {
  #parts = [];
  /** @type {Promise<void> | undefined} */
  #running;

  /** @param {number} rank @param {{ stop: () => Promise<void> }} part */
  add(rank, part) {
    if (this.#running) throw new Error('Everything is being stopped.');
    this.#parts.push({ rank, part });
  }

  get isRunning() {
    return this.#running !== undefined;
  }

  run() {
    this.#running ??= this.#stopAll();
    return this.#running;
  }

  async #stopAll() {
    const failures = [];
    const ranks = [...new Set(this.#parts.map(({ rank }) => rank))].toSorted((a, b) => a - b);
    for (const rank of ranks) {
      const parts = this.#parts.filter((entry) => entry.rank === rank);
      // A part that cannot be stopped must not leave those after it running.
      const outcomes = await Promise.allSettled(parts.map(({ part }) => part.stop()));
      failures.push(...outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason));
    }
    if (failures.length > 0) throw failures[0];
  }
}
