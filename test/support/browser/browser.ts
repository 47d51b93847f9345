import { type Browser, type BrowserContext, chromium, type ConsoleMessage, type Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { type TestService, useService } from '../../../src/testing/test-service.js';

interface BrowserOptions {
  /** A WAV file that the microphone plays, again and again; with the microphone, its permission is given. */
  microphone?: string;
}

interface PageOptions {
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
  /** Opens the console of this client's service by the link that `npm start` prints; null: nobody is signed in. */
  signedInAs?: ApiClient | null;
  /** The page of the console, such as `/recordings/{id}`. */
  route?: string;
  reducedMotion?: boolean;
  /** What the browser speaks; British English by default. */
  locale?: string;
  /** Where the person is, such as `Europe/Berlin`; UTC by default. */
  timezoneId?: string;
  /** Whether a recording goes to the service while it is made. */
  liveWords?: boolean;
  /** Whether the browser keeps the console. Requests that its service worker answers cannot be held or refused. */
  kept?: boolean;
  /** What the test has to arrange before anything is loaded. */
  arrange?: (page: Page) => Promise<unknown>;
  /** Messages of the browser's console that the test provokes. */
  expectedProblems?: RegExp[];
}

/** The console of a service in a Chromium. Each page has storage and permissions of its own, and each test an account. */
export class TestConsole {
  /** Of the test. */
  account!: ApiClient;
  private running: Browser | null = null;
  private readonly opened: { context: BrowserContext; problems: PageProblems }[] = [];

  constructor(
    readonly service: TestService,
    private readonly options: BrowserOptions,
  ) {}

  async start(): Promise<void> {
    const { microphone } = this.options;
    this.running = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's own sandbox does not run as root, as whom containers and CI run tests.
      args: ['--no-sandbox', ...(microphone ? microphoneArguments(microphone) : [])],
    });
  }

  /** A page of the console, by default of the test's account, 1280 × 800 and light. */
  async open(options: PageOptions = {}): Promise<Page> {
    if (!this.running) throw new Error('the browser is not open');
    const { width = 1280, height = 800, theme = 'light', signedInAs = this.account, route, arrange } = options;
    const url = signedInAs?.url ?? this.service.url;
    const context = await this.running.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
      permissions: ['clipboard-read', 'clipboard-write', ...(this.options.microphone ? ['microphone'] : [])],
      locale: options.locale ?? 'en-GB',
      timezoneId: options.timezoneId ?? 'UTC',
      acceptDownloads: true,
      serviceWorkers: options.kept ? 'allow' : 'block',
    });

    const problems = new PageProblems(new URL(url).origin, options.expectedProblems);
    await problems.watch(context);
    this.opened.push({ context, problems });
    if (!options.liveWords) await context.addInitScript(turnOffLiveWords);
    const page = await context.newPage();
    await arrange?.(page);
    if (signedInAs) await signInByLink(page, signedInAs);
    else await page.goto(`${url}/`);
    if (route) await go(page, route);
    return page;
  }

  /** Closes the pages that are open. @throws Error naming what went wrong on them. */
  async closePages(): Promise<void> {
    const pages = this.opened.splice(0);
    await Promise.all(pages.map(({ context }) => context.close()));
    const found = pages.flatMap(({ problems }) => problems.found);
    if (found.length > 0) throw new Error(`The browser reported:\n  ${found.join('\n  ')}`);
  }

  async close(): Promise<void> {
    await this.running?.close();
  }
}

/**
 * A console for the tests of this file or `describe` block, with hooks that open and close it. A test fails when one of
 * its pages has an error, breaks the content security policy or asks another host for something.
 */
export function useConsole(
  variables: Record<string, string> = { ROLES: 'api' },
  options: BrowserOptions = {},
): TestConsole {
  const tested = new TestConsole(useService(variables), options);
  beforeAll(() => tested.start());
  beforeEach(async () => {
    tested.account = await tested.service.account();
  });
  afterEach(() => tested.closePages());
  afterAll(() => tested.close());
  return tested;
}

/** Goes to another page of the console without loading it, as by a link; a second load would sign it out. */
export async function go(page: Page, route: string): Promise<void> {
  await page.evaluate((path) => (location.hash = path), route);
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
export const heading = (page: Page, name: string) => page.getByRole('heading', { name });

/** Waits until events arrive. */
export const isLive = (page: Page) => page.locator('.live-mark.is-live').first().waitFor({ state: 'attached' });

/** Keeps requests of a page from the service, as a slow connection may. @returns what lets them through */
export async function hold(page: Page, pattern: string): Promise<() => void> {
  let letThrough = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (letThrough = resolve));
  await page.route(pattern, async (request) => {
    await isOpen;
    await request.continue();
  });
  return letThrough;
}

/** How many recordings and files wait in the storage of the browser. */
export async function storedItems(page: Page): Promise<number> {
  return await page.evaluate(
    () =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open('voice-notes');
        opening.addEventListener('error', reject);
        opening.addEventListener('success', () => {
          const count = opening.result.transaction('items').objectStore('items').count();
          count.addEventListener('success', () => {
            opening.result.close();
            resolve(count.result);
          });
        });
      }),
  );
}

/** The link of scripts/lib/demo.mjs. */
export async function signInLink(client: ApiClient): Promise<string> {
  const { code } = (await client.post('/v1/account/sign-in-codes').expect(201)).body as { code: string };
  return `${client.url}/#${new URLSearchParams({ code }).toString()}`;
}

/** Resolves once the code is exchanged. A key without account:read has no link, and signs in by the form. */
export async function signInByLink(page: Page, client: ApiClient): Promise<void> {
  const { status, body } = await client.post('/v1/account/sign-in-codes');
  if (status === 201) {
    const exchanged = page.waitForResponse('**/v1/account/sign-in-codes/exchange');
    await page.goto(`${client.url}/#code=${body.code as string}`);
    await exchanged;
  } else {
    await page.goto(`${client.url}/`);
    await page.getByRole('button', { name: 'Use an API key' }).click();
    await page.getByLabel('API key').fill(client.credentials.key);
    await page.getByLabel('API secret').fill(client.credentials.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  await page.getByRole('navigation').first().waitFor();
}

/**
 * Turns off what the browser does to the sound of the microphone, before anything is loaded: its gain control makes it a
 * matter of chance what PocketSphinx hears.
 */
export const hearUnprocessed = (page: Page) =>
  page.addInitScript(() => {
    const { mediaDevices } = navigator;
    const open = mediaDevices.getUserMedia.bind(mediaDevices);
    const unprocessed = { autoGainControl: false, noiseSuppression: false, echoCancellation: false };
    mediaDevices.getUserMedia = ({ audio }: MediaStreamConstraints = {}) =>
      open({ audio: { ...(audio as MediaTrackConstraints), ...unprocessed } });
  });

/** Runs in the page before its scripts, and in those that have no storage. */
function turnOffLiveWords(): void {
  if (location.protocol.startsWith('http')) localStorage.setItem('vnotes.live-words', 'off');
}

function microphoneArguments(file: string): string[] {
  // The headless shell has no window that could ask for the permission, and refuses without asking.
  const allowed = '--use-fake-ui-for-media-stream';
  return [allowed, '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${file}`];
}

/** Addresses without a host. */
const LOCAL_SCHEMES = /^(data|blob|about):/;
/** What the browser writes for each answer that is an error. Those of the API are for the page to show. */
const FAILED_REQUEST = /^Failed to load resource/;

/** What goes wrong on the pages of a context: errors, broken policies, requests to other hosts. */
class PageProblems {
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
