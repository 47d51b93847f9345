import type { Page } from 'playwright-core';

/** Keeps the stream of events from a page until it is let through, as a slow connection may. */
export class HeldEvents {
  private open = (): void => undefined;
  private readonly isOpen = new Promise<void>((resolve) => (this.open = resolve));

  /** For a page that has not been opened yet. */
  readonly hold = async (page: Page): Promise<void> => {
    await page.route('**/v1/events/stream*', async (request) => {
      await this.isOpen;
      await request.continue();
    });
  };

  letThrough(): void {
    this.open();
  }
}
