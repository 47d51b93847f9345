import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram } from '../../../../platform/processes/wrappers.js';
import { ChildPool } from './child-pool.js';
import type { ChildModule } from './engine-child.js';
import { EngineError } from '../transcription-engine.js';

/** A child without an engine: the first byte of the audio tells it what to do. It speaks the protocol of child-side.ts. */
const FAKE_CHILD = `
  import { randomUUID } from 'node:crypto';
  import { openSync, writeFileSync, writeSync } from 'node:fs';
  const ID = randomUUID();
  const write = (text) => { for (let rest = text; rest.length > 0; ) rest = rest.slice(writeSync(3, rest)); };
  const send = (message) => write(JSON.stringify(message) + '\\n');
  const obey = (order, options) => {
    if (order === 'c') process.kill(process.pid, 'SIGSEGV');
    if (order === 'x') { console.error('out of luck'); process.exit(3); }
    if (order === 'h') for (;;);
    if (order === 'm') for (const all = []; ; ) all.push(Buffer.alloc(1 << 24, 1));
    if (order === 'w') writeFileSync(process.argv[1] + '.out', 'x');
    if (order === 'o') for (;;) openSync(process.argv[1]);
    if (order === 'g') return write('\\x7fELF garbage\\n');
    if (order === 'b') return write(Buffer.from([255, 254, 0, 10]).toString('latin1') + '\\n');
    if (order === 'l') for (let i = 0; i < 64; i++) write('x'.repeat(65536));
    if (order === 't') return send({ transcript: { text: 7, confidence: 1, language: 'english', words: [] } });
    if (order === 'k') return send({ transcript: { text: 'a', confidence: 7, language: 'english', words: [] } });
    if (order === 'r') return send({ ready: true });
    const texts = { p: ID, e: JSON.stringify(process.env), n: JSON.stringify(options), v: process.argv.slice(2).join() };
    const text = texts[order] ?? order;
    const answer = () => send({ transcript: { text, confidence: 1, language: 'english', words: [] } });
    if (order === '2') answer();
    order === 's' ? setTimeout(answer, 1000) : answer();
  };
  let bytes = Buffer.alloc(0);
  process.stdin.on('end', () => process.exit());
  process.stdin.on('data', (data) => {
    bytes = Buffer.concat([bytes, data]);
    while (bytes.length >= 8 && bytes.length >= 8 + bytes.readUInt32LE(0) + bytes.readUInt32LE(4)) {
      const start = 8 + bytes.readUInt32LE(0);
      const end = start + bytes.readUInt32LE(4);
      const options = JSON.parse(bytes.toString('utf8', 8, start));
      const order = String.fromCharCode(bytes[start]);
      bytes = bytes.subarray(end);
      obey(order, options);
    }
  });
  send({ ready: true });
`;
const UNABLE_CHILD = `
  import { writeSync } from 'node:fs';
  writeSync(3, JSON.stringify({ problem: 'Install the library' }) + '\\n');
  setInterval(() => {}, 1000);
`;
const LIMIT_MS = 10_000;

/** A child writes a gigabyte before its limit ends it, which takes a busy machine many seconds. */
const GIGABYTE_MS = 50_000;
jest.setTimeout(60_000);

describe('ChildPool', () => {
  let folder: string;
  let module: ChildModule;
  let pool: ChildPool;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'child-pool-'));
    module = await moduleOf('fake', FAKE_CHILD);
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    pool = new ChildPool(module, 1);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await pool.close();
  });

  async function moduleOf(name: string, source: string): Promise<ChildModule> {
    const file = path.join(folder, `${name}.mjs`);
    await writeFile(file, source);
    return { file, reads: [folder] };
  }

  const ask = async (order: string, limitMs = LIMIT_MS, signal = new AbortController().signal): Promise<string> =>
    (await pool.transcribe(Buffer.from(order), limitMs, signal)).text;

  it('uses the same child for the next chunk', async () => {
    const first = await ask('p');
    expect(await ask('p')).toBe(first);
  });

  it('transcribes as many chunks at once as it has children', async () => {
    await pool.close();
    pool = new ChildPool(module, 2);
    const ids = await Promise.all([ask('p'), ask('p'), ask('p')]);
    expect(new Set(ids).size).toBe(2);
  });

  it.each([
    ['dies of a signal', 'c', /SIGSEGV/],
    ['exits', 'x', /exit code 3/],
  ])('suspects the audio and starts a new child when one %s', async (_, order, message) => {
    const before = await ask('p');
    const error = await ask(order).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ audioSuspected: true, message: expect.stringMatching(message) });
    expect(await ask('p')).not.toBe(before);
  });

  // Without prlimit (macOS) nothing is limited.
  const limited = findProgram('prlimit') ? it.each : it.skip.each;
  limited([
    ['takes too much memory', 'm', /SIGABRT|SIGTRAP|SIGILL|exit code/],
    ['writes a file', 'w', /exit code 1/],
    ['opens too many files', 'o', /exit code 1/],
  ])('suspects the audio and starts a new child when one %s', async (_, order, message) => {
    const before = await ask('p');
    await expect(ask(order, GIGABYTE_MS)).rejects.toMatchObject({
      audioSuspected: true,
      message: expect.stringMatching(message),
    });
    expect(await ask('p')).not.toBe(before);
    expect(await readdir(folder)).not.toContain('core');
  });

  it.each([
    ['writes what is no JSON', 'g', 'not JSON'],
    ['writes bytes that are no text', 'b', 'not JSON'],
    ['writes a line without an end', 'l', 'longer than 262144 bytes'],
    ['sends a number as text', 't', 'text must be text'],
    ['sends a confidence above 1', 'k', 'confidence must be null or a number from 0 to 1'],
    ['sends a message of another kind', 'r', 'unexpected message'],
  ])('suspects the audio and replaces a child that %s', async (_, order, message) => {
    const before = await ask('p');
    const error = await ask(order).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ audioSuspected: true, message: expect.stringContaining(message) });
    expect(await ask('p')).not.toBe(before);
  });

  it('never takes a second answer to one chunk for the answer to the next', async () => {
    const before = await ask('p');
    expect(await ask('2')).toBe('2');
    // The second answer has come once the child is lost.
    while (pool['children'].some((child) => child.isAlive)) await delay(5);
    expect(await ask('p')).not.toMatch(new RegExp(`^(2|${before})$`));
  });

  it('reports the stderr of a crashed child as the cause', async () => {
    await expect(ask('x')).rejects.toMatchObject({ cause: expect.stringContaining('out of luck') });
  });

  it('kills a child that hangs, even in a call that never returns', async () => {
    await expect(ask('h', 200)).rejects.toMatchObject({
      audioSuspected: true,
      message: expect.stringMatching(/no answer/),
    });
    expect(await ask('a')).toBe('a');
  });

  it('leaves a child that has answered alone when the time for its answer is over', async () => {
    const before = await ask('p');
    const started = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    expect(await ask('p', 12_345)).toBe(before);
    const limits = started.mock.results.filter((_, i) => started.mock.calls[i]?.[1] === 12_345);
    expect(limits).toHaveLength(1);
    expect(cleared.mock.calls.flat()).toContain(limits[0]?.value);
    expect(await ask('p')).toBe(before);
  });

  it('on abort drops a waiting chunk and ignores the result of a running one', async () => {
    const child = await ask('p');
    const stop = new AbortController();
    const running = ask('s', LIMIT_MS, stop.signal);
    // Would end the child.
    const waiting = ask('c', LIMIT_MS, stop.signal);
    const after = ask('p');
    await delay(50);
    stop.abort(new Error('not wanted'));
    await expect(running).rejects.toThrow('not wanted');
    await expect(waiting).rejects.toThrow('not wanted');
    expect(await after).toBe(child);
  });

  it('hides the secrets of this process from its children', async () => {
    process.env.SECRET_KEY = 'a secret of this process';
    const seen = JSON.parse(await ask('e')) as Record<string, string>;
    delete process.env.SECRET_KEY;
    expect(Object.keys(seen)).toContain('PATH');
    expect(seen).not.toHaveProperty('SECRET_KEY');
  });

  it('reports what is missing without suspecting the audio', async () => {
    const broken = new ChildPool(await moduleOf('unable', UNABLE_CHILD), 1);
    expect(await broken.problem()).toBe('Install the library');
    const error = await broken
      .transcribe(Buffer.from('a'), LIMIT_MS, new AbortController().signal)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: 'Install the library', audioSuspected: false });
    await broken.close();
    expect(await pool.problem()).toBeNull();
  });

  it('gives the child its arguments, and each chunk its options', async () => {
    const other = new ChildPool({ ...module, args: ['--model', 'a b'] }, 1);
    const { signal } = new AbortController();
    expect((await other.transcribe(Buffer.from('v'), LIMIT_MS, signal)).text).toBe('--model,a b');
    const options = { language: 'german', vocabulary: ['Grüße'] };
    const { text } = await other.transcribe(Buffer.from('n'), LIMIT_MS, signal, options);
    expect(JSON.parse(text)).toEqual(options);
    await other.close();
  });

  it('starts a child that cannot work again only after a while, and longer each time', async () => {
    const unable = await moduleOf('later', UNABLE_CHILD);
    const other = new ChildPool(unable, 2);
    const { signal } = new AbortController();
    const tryIt = (): Promise<unknown> =>
      other.transcribe(Buffer.from('a'), LIMIT_MS, signal).then(
        ({ text }) => text,
        (error: Error) => error.name,
      );
    const start = Date.now();
    expect(await Promise.all([tryIt(), tryIt()])).toEqual(['EngineUnavailableError', 'EngineUnavailableError']);
    await moduleOf('later', FAKE_CHILD);
    expect(await tryIt()).toBe('EngineUnavailableError');
    await moduleOf('later', UNABLE_CHILD);
    const now = jest.spyOn(Date, 'now').mockReturnValue(start + 30_000);
    expect(await tryIt()).toBe('EngineUnavailableError');
    await moduleOf('later', FAKE_CHILD);
    now.mockReturnValue(start + 30_000 + 25_000);
    expect(await tryIt()).toBe('EngineUnavailableError');
    now.mockReturnValue(start + 30_000 + 35_000);
    expect(await tryIt()).toBe('a');
    now.mockRestore();
    await other.close();
  });

  it('explains the end of a child that was not ready', async () => {
    const broken = await moduleOf('broken', `console.error('no model'); process.exit(4);`);
    const explain = (end: string, said: string): string => `${end}: ${said.trim()}`;
    const other = new ChildPool({ ...broken, explain }, 1);
    expect(await other.problem()).toBe('ended by exit code 4: no model');
    await other.close();
  });

  it('names the error of a child that was not ready, where nothing else explains it', async () => {
    const other = new ChildPool(await moduleOf('throwing', `throw new TypeError('no model');`), 1);
    expect(await other.problem()).toBe('The engine process was lost: ended by exit code 1: TypeError: no model');
    await other.close();
  });

  it('is closed at once while a child is still loading', async () => {
    const loading = new ChildPool(await moduleOf('loading', 'setInterval(() => {}, 1000);'), 1);
    const waiting = loading.transcribe(Buffer.from('a'), LIMIT_MS, new AbortController().signal);
    waiting.catch(() => undefined);
    await delay(20);
    await loading.close();
    await expect(waiting).rejects.toMatchObject({ audioSuspected: false });
  });

  it('rejects running chunks when it is closed, without suspecting the audio', async () => {
    await ask('a');
    const running = ask('h');
    running.catch(() => undefined);
    await delay(50);
    await pool.close();
    await expect(running).rejects.toMatchObject({ audioSuspected: false });
    await expect(ask('a')).rejects.toThrow('closed');
  });
});
