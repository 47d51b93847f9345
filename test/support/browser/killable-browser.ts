import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';

/** A Chromium with a profile on the disk that outlives it, in a process group that can be killed at once. */
export class KillableBrowser {
  private readonly profile = mkdtempSync(join(tmpdir(), 'voice-notes-profile-'));
  private process: ChildProcess | null = null;

  /** @param microphone a WAV file that it plays, again and again */
  constructor(private readonly microphone: string) {}

  /** Starts it with the same profile as before. */
  async start(): Promise<Page> {
    const child = spawn(
      process.env.CHROMIUM ?? '/usr/bin/chromium',
      [
        '--headless',
        '--no-sandbox',
        '--no-first-run',
        '--window-size=1280,800',
        '--remote-debugging-port=0',
        `--user-data-dir=${this.profile}`,
        '--use-fake-ui-for-media-stream',
        '--use-fake-device-for-media-stream',
        `--use-file-for-fake-audio-capture=${this.microphone}`,
        'about:blank',
      ],
      { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.process = child;
    const browser = await chromium.connectOverCDP(await debuggingUrl(child));
    const [context] = browser.contexts();
    const page = context?.pages()[0] ?? (await context?.newPage());
    if (!page) throw new Error('Chromium opened no page');
    return page;
  }

  /** Ends all its processes in the middle of what they do. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.process ?? {};
    if (!this.process || !pid || exitCode !== null || signalCode !== null) return;
    const ended = once(this.process, 'exit');
    process.kill(-pid, 'SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function debuggingUrl({ stderr }: ChildProcess): Promise<string> {
  let text = '';
  for await (const bytes of stderr as AsyncIterable<Buffer>) {
    text += bytes.toString();
    const [, url] = /DevTools listening on (ws:\S+)/.exec(text) ?? [];
    if (url) {
      stderr?.resume();
      return url;
    }
  }
  throw new Error(`Chromium ended:\n${text}`);
}
