import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { PageProblems } from './page-problems.js';

interface BrowserOptions {
  /** A WAV file that the microphone plays, again and again; with the microphone, its permission is given. */
  microphone?: string;
}

interface PageOptions {
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
  /** Opens the console of this client's service by the link that `npm start` prints. */
  signedInAs?: ApiClient;
  /** Of the service, for a page that is not signed in. */
  url?: string;
  /** The page of the console, such as `/recordings/{id}`. */
  route?: string;
  reducedMotion?: boolean;
  /** What the test has to arrange before anything is loaded. */
  arrange?: (page: Page) => Promise<void>;
  /** Messages of the browser's console that the test provokes. */
  expectedProblems?: RegExp[];
}

/** A Chromium for the tests of one file. Each page has storage and permissions of its own. */
export class TestBrowser {
  private running: Browser | null = null;
  private readonly opened: { context: BrowserContext; problems: PageProblems }[] = [];

  constructor(private readonly options: BrowserOptions = {}) {}

  async open(): Promise<void> {
    const { microphone } = this.options;
    this.running = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's own sandbox does not run as root, as whom containers and CI run tests.
      args: ['--no-sandbox', ...(microphone ? microphoneArguments(microphone) : [])],
    });
  }

  /** A page of the console; 1280 × 800 and light unless something else is asked for. */
  async page(options: PageOptions = {}): Promise<Page> {
    if (!this.running) throw new Error('the browser is not open');
    const { width = 1280, height = 800, theme = 'light', signedInAs, route, arrange } = options;
    const url = signedInAs?.url ?? options.url;
    if (!url) throw new Error('the page needs signedInAs or url');
    const context = await this.running.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
      permissions: this.options.microphone ? ['microphone'] : [],
      locale: 'en-GB',
      timezoneId: 'UTC',
      acceptDownloads: true,
    });
    const problems = new PageProblems(new URL(url).origin, options.expectedProblems);
    await problems.watch(context);
    this.opened.push({ context, problems });
    const page = await context.newPage();
    await arrange?.(page);
    if (signedInAs) await signInByLink(page, signedInAs);
    else await page.goto(`${url}/`);
    // The page moves on without being loaded, as by a link; a second load would sign it out.
    if (route) await page.evaluate((path) => (location.hash = path), route);
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
    await page.getByLabel('API key').fill(client.credentials.key);
    await page.getByLabel('API secret').fill(client.credentials.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  await page.getByRole('navigation').first().waitFor();
}

/**
 * A browser for the tests of this file or `describe` block, with hooks that open and close it. A test fails when one of
 * its pages has an error, breaks the content security policy or asks another host for something.
 */
export function useBrowser(options: BrowserOptions = {}): TestBrowser {
  const browser = new TestBrowser(options);
  beforeAll(() => browser.open());
  afterEach(() => browser.closePages());
  afterAll(() => browser.close());
  return browser;
}

function microphoneArguments(file: string): string[] {
  // The headless shell has no window that could ask for the permission, and refuses without asking.
  const allowed = '--use-fake-ui-for-media-stream';
  return [allowed, '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${file}`];
}
