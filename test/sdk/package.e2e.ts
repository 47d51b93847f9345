import { spawn } from 'node:child_process';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { UploadProgress } from 'vnotes';
import { installBinary } from '../../scripts/lib/npm-binary.mjs';
import { installNode, NODE_24 } from '../../scripts/lib/other-node.mjs';
import { signDelivery } from '../../src/modules/webhooks/sending/signature.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { resultOf } from '../support/cli/vnotes.js';
import { ROOT } from '../support/paths.js';
import { afterBody, answer, type Fault, refusal } from '../support/servers/fault-server.js';
import { freePort } from '../support/servers/free-port.js';
import { announcedOutput, readmeExamples } from './readme-examples.js';
import { PackedClient } from './runtimes/packed-client.js';

const AUDIO = join(SPEECH, 'go-forward-ten-meters.wav');
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
/** `npm run runtimes -w sdk` sets it. */
const ALL = process.env.RUNTIMES === 'all';
/** As large as the client itself, without what a program does not import, may become. */
const LIMIT_BYTES = 8192;

describe('the packed client', () => {
  let pagePort: number;
  let packed: PackedClient;
  let server: Server;
  const matrix: Record<string, Record<string, string>> = {};
  beforeAll(async () => {
    pagePort = await freePort();
    packed = await PackedClient.install();
  });
  const service = useService(() => ({ CORS_ORIGINS: `http://127.0.0.1:${pagePort}` }));
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await packed?.remove();
    if (ALL) console.table(matrix);
  });

  async function setup(): Promise<Record<string, unknown>> {
    const { credentials } = await service.account();
    const body = '{"event":"webhook.test","timestamp":"2026-11-21T10:00:09Z","webhook":{"id":"w"}}';
    const parts = { secret: SECRET, eventId: 'e', timestampSeconds: Math.floor(Date.now() / 1000) };
    const headers = signDelivery({ ...parts, body: Buffer.from(body) });
    const delivery = { body, headers, secret: SECRET };
    return { url: service.url, key: credentials.key, secret: credentials.secret, path: AUDIO, delivery };
  }

  function expectOk(runtime: string, results: Record<string, string>): void {
    matrix[runtime] = results;
    expect(Object.keys(results).length).toBeGreaterThanOrEqual(10);
    expect(Object.entries(results).filter(([, outcome]) => outcome !== 'ok')).toEqual([]);
  }

  it('has no dependencies, and is clean for publint and are-the-types-wrong', async () => {
    expect(await readdir(join(packed.folder, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'vnotes']);
    const files = await readdir(join(packed.folder, 'node_modules', 'vnotes'));
    expect(files.toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    expect(await packed.tool('publint', ['--strict', packed.archive])).toContain('All good!');
    await packed.tool('attw', ['--profile', 'esm-only', '--no-definitely-typed', packed.archive]);
  });

  it('is a program without dependencies', async () => {
    const { credentials, url } = await service.account();
    const { PATH = '' } = process.env;
    const pair = { VNOTES_KEY: credentials.key, VNOTES_SECRET: credentials.secret };
    const env = { PATH, HOME: packed.folder, VNOTES_URL: url, ...pair };
    const program = join(packed.folder, 'node_modules/.bin/vnotes');
    const run = (...args: string[]) => resultOf(spawn(program, args, { env, cwd: packed.folder }));
    expect(await run('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(await run('list', '--json')).toMatchObject({ code: 0, stdout: expect.stringContaining('"recordings":[]') });
  });

  const types = ['--typeRoots', join(ROOT, 'node_modules', '@types'), '--types', 'node'];
  it.each<[string, string[]]>([
    ['of Node, without the types of browsers', ['--module', 'nodenext', '--lib', 'es2023', ...types]],
    ['for browsers, without the types of Node', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('type-checks in a strict project %s', async (_name, options) => {
    const tsc = '../typescript-native/bin/tsc';
    await packed.tool(tsc, ['--noEmit', '--strict', '--target', 'es2023', ...options, 'consumer.ts']);
  });

  it('says the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(packed.folder, 'node_modules/vnotes/package.json'), 'utf8')) as {
      version: string;
    };
    expect(await readFile(join(packed.folder, 'node_modules/vnotes/dist/index.js'), 'utf8')).toContain(`"${version}"`);
  });

  it('is small, and smaller without what is not imported', async () => {
    const sizes: Record<string, number> = {};
    for (const what of ['VoiceNotes', 'verifyWebhook', '*']) {
      await writeFile(join(packed.folder, 'size.mjs'), `export ${what === '*' ? '*' : `{ ${what} }`} from 'vnotes';`);
      const code = await readFile(await packed.bundle('size.mjs', 'size.js'));
      expect(code.toString()).not.toMatch(/from\s*["']node:|require\(/);
      sizes[what] = gzipSync(code, { level: 9 }).length;
    }
    if (ALL) console.log('bytes, minified and compressed:', sizes);
    expect(sizes.VoiceNotes).toBeLessThanOrEqual(LIMIT_BYTES);
    expect(sizes.verifyWebhook).toBeLessThan(2000);
  });

  it('does what the ten examples of its README say', async () => {
    const examples = await readmeExamples();
    expect(examples).toHaveLength(10);
    await copyFile(AUDIO, join(packed.folder, 'note.wav'));
    const run = async ({ title, code }: { title: string; code: string }, i: number): Promise<void> => {
      const { credentials } = await service.account();
      const file = `example-${i}.mjs`;
      await writeFile(join(packed.folder, file), code);
      const { key, secret } = credentials;
      const variables = { VNOTES_URL: service.url, VNOTES_KEY: key, VNOTES_SECRET: secret };
      const output = await packed.run(process.execPath, [file], variables);
      for (const line of announcedOutput(code)) expect(`${title}: ${output}`).toMatch(line);
    };
    // Some wait for the engine, so that several may run.
    for (let at = 0; at < examples.length; at += 5) {
      await Promise.all(examples.slice(at, at + 5).map((example, i) => run(example, at + i)));
    }
    expect((await readFile(join(packed.folder, 'copy.wav'))).equals(await readFile(AUDIO))).toBe(true);
    expect(await readFile(join(packed.folder, 'note.srt'), 'utf8')).toContain(' --> ');
  });

  const node = async (version: string) =>
    process.versions.node.startsWith(version.split('.')[0] ?? '') ? { binary: process.execPath } : installNode(version);
  const ofNpm = (name: string, version: string, path: string) => () => installBinary({ name, version, path });
  const permissions = ['run', '--allow-net', '--allow-read', '--allow-env', '--allow-sys'];

  type Runtime = [name: string, isWanted: boolean, install: () => ReturnType<typeof installBinary>, args: string[]];
  const runtimes: Runtime[] = [
    ['Node 20', true, () => node('20.20.2'), []],
    ['Node 22', ALL, () => node('22.23.3'), []],
    ['Node 24', true, () => node(NODE_24), []],
    ['Deno 2', ALL, ofNpm('@deno/linux-x64-glibc', '2.9.6', 'deno'), permissions],
    ['Bun 1', ALL, ofNpm('@oven/bun-linux-x64', '1.4.5', 'bin/bun'), []],
  ];
  it.each(runtimes.filter(([, isWanted]) => isWanted))(
    'works in %s, and lets the process end at once',
    async (name, _isWanted, install, args) => {
      const { binary, problem } = await install();
      if (!binary) {
        if (ALL) throw new Error(problem);
        // As the smoke test does, which needs the same binary: a machine may have no network.
        return console.log(`${name}: skipped; ${problem}`);
      }
      const file = join(packed.folder, `${name.replace(' ', '-')}.json`);
      let seconds = Infinity;
      // A busy machine may delay one end. What holds the process delays each.
      for (let run = 0; run < 3 && seconds >= 2; run += 1) {
        await writeFile(file, JSON.stringify(await setup()));
        const output = await packed.run(binary, [...args, 'program.mjs', file]);
        const { results, endedAt } = JSON.parse(output) as { results: Record<string, string>; endedAt: number };
        seconds = (Date.now() - endedAt) / 1000;
        expectOk(name, { ...results, ...(ALL && { 'ends after': seconds < 2 ? 'ok' : `${seconds} s` }) });
      }
      expect(seconds).toBeLessThan(2);
    },
  );

  describe('in Chromium', () => {
    let browser: Browser;
    let page: Page;
    /** What the server of the page does with uploads, one after the other. */
    let faults: Fault[] = [];
    const keys: unknown[] = [];

    beforeAll(async () => {
      const bundle = await packed.bundle('page.mjs', 'page.js');
      const [script, audio] = [await readFile(bundle), await readFile(AUDIO)];
      server = createServer((request, response) => {
        request.on('error', () => {});
        if (request.url === '/page.js') response.setHeader('Content-Type', 'text/javascript').end(script);
        else if (request.url === '/audio.wav') response.end(audio);
        else if (request.method === 'POST') {
          keys.push(request.headers['idempotency-key']);
          void faults.shift()?.(request, response);
        } else response.setHeader('Content-Type', 'text/html').end('<script type="module" src="/page.js"></script>');
      }).listen(pagePort, '127.0.0.1');
      browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox'],
      });
      page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${pagePort}/`);
      await page.waitForFunction('globalThis.run');
    });
    afterAll(() => browser?.close());

    type Functions = Record<string, (given: unknown) => unknown>;
    const call = async <T>(name: string, given: unknown): Promise<T> =>
      (await page.evaluate(
        ([fn, arg]) => (globalThis as unknown as Functions)[fn as string]?.(arg),
        [name, given],
      )) as T;
    const upload = (given: object) => call<{ progress: UploadProgress[]; outcome: string }>('upload', given);

    it('works in a page of another origin', async () => {
      expectOk(`Chromium ${browser.version().split('.')[0]}`, await call('run', await setup()));
    });

    it('repeats an upload after faults with the same key, and its progress goes back only with the next attempt', async () => {
      const bytes = 3_000_000;
      faults = [
        (request) => request.once('data', () => request.socket.destroy()),
        refusal(503, 'ServiceUnavailableError', {}, { 'Retry-After': '0' }),
        afterBody([], answer(201, { id: 'x' })),
      ];
      const { progress, outcome } = await upload({ bytes });
      expect(outcome).toBe('x');
      expect(keys).toHaveLength(3);
      expect(new Set(keys).size).toBe(1);
      // Chromium repeats a request by itself when a connection that it uses again was closed.
      expect(progress.at(-1)).toEqual({ sent: bytes, total: bytes, attempt: expect.any(Number) as number });
      expect(progress.at(-1)?.attempt).toBeGreaterThanOrEqual(2);
      for (const [i, { sent, attempt }] of progress.entries()) {
        const before = progress[i - 1];
        if (before?.attempt === attempt) expect(sent).toBeGreaterThan(before.sent);
        else expect(sent).toBe(0);
      }
    });

    it('gives up an upload that stalls, and ends one that is aborted', async () => {
      const stall: Fault = (request) => request.pause();
      faults = [stall, stall];
      expect((await upload({ bytes: 30_000_000, timeout: 1000, maxRetries: 0 })).outcome).toMatch(
        /^TimeoutError: Nothing came/,
      );
      expect((await upload({ bytes: 30_000_000, abortAfter: 300 })).outcome).toBe('Error: the person has left');
    });
  });
});
