import type { BrowserContext, ConsoleMessage } from 'playwright-core';

/** Addresses without a host. */
const LOCAL_SCHEMES = /^(data|blob|about):/;
/** What the browser writes for each answer that is an error. Those of the API are for the page to show. */
const FAILED_REQUEST = /^Failed to load resource/;

/** What goes wrong on the pages of a context: errors, broken policies, requests to other hosts. */
export class PageProblems {
  private readonly all: string[] = [];

  constructor(
    private readonly origin: string,
    private readonly expected: RegExp[] = [],
  ) {}

  async watch(context: BrowserContext): Promise<void> {
    context.on('console', (message) => this.note(message));
    context.on('weberror', (error) => this.add(`error: ${error.error().stack ?? error.error().message}`));
    context.on('request', (request) => {
      const url = request.url();
      if (!LOCAL_SCHEMES.test(url) && new URL(url).origin !== this.origin) this.add(`request to ${url}`);
    });
    // Chromium reports a violation on the console too, but not one of a worker, and not in the same words.
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
        console.error(`policy violated: ${effectiveDirective} ${blockedURI}`);
      });
    });
  }

  get found(): string[] {
    return this.all.filter((problem) => !this.expected.some((pattern) => pattern.test(problem)));
  }

  private note(message: ConsoleMessage): void {
    const { url } = message.location();
    const isAnswer = FAILED_REQUEST.test(message.text()) && url.startsWith(`${this.origin}/v1/`);
    if (message.type() === 'error' && !isAnswer) this.add(`console: ${message.text()} (${url})`);
  }

  private add(problem: string): void {
    this.all.push(problem);
  }
}
