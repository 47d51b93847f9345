import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram } from '../../decoding/sandbox.js';
import { ChildPool } from './child-pool.js';
import { EngineError } from '../transcription-engine.js';

/** A child without an engine: what it does is said by the first byte of the audio. */
const FAKE_CHILD = `
  import { openSync, writeFileSync } from 'node:fs';
  process.on('disconnect', () => process.exit());
  process.on('message', ({ pcm }) => {
    const order = String.fromCharCode(pcm[0]);
    if (order === 'c') process.kill(process.pid, 'SIGSEGV');
    if (order === 'x') { console.error('out of luck'); process.exit(3); }
    if (order === 'h') for (;;);
    if (order === 'm') for (const all = []; ; ) all.push(Buffer.alloc(1 << 24, 1));
    if (order === 'w') writeFileSync(process.argv[1] + '.out', 'x');
    if (order === 'o') for (;;) openSync(process.argv[1]);
    const text = order === 'p' ? String(process.pid) : order === 'e' ? JSON.stringify(process.env) : order;
    const answer = () => process.send({ transcript: { text, confidence: 1, language: 'english', words: [] } });
    order === 's' ? setTimeout(answer, 150) : answer();
  });
  process.send({ ready: true });
`;
const UNABLE_CHILD = `process.send({ problem: 'Install the library' }); setInterval(() => {}, 1000);`;
const LIMIT_MS = 10_000;

describe('ChildPool', () => {
  let folder: string;
  let module: string;
  let pool: ChildPool;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'child-pool-'));
    module = path.join(folder, 'fake.mjs');
    await writeFile(module, FAKE_CHILD);
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    pool = new ChildPool(module, 1);
  });
  afterEach(() => pool.close());

  const ask = async (order: string, limitMs = LIMIT_MS, signal = new AbortController().signal): Promise<string> =>
    (await pool.recognise(Buffer.from(order), limitMs, signal)).text;

  it('keeps its child from piece to piece', async () => {
    const first = await ask('p');
    expect(await ask('p')).toBe(first);
    expect(Number(first)).not.toBe(process.pid);
  });

  it('runs as many pieces at once as it has places, in as many children', async () => {
    await pool.close();
    pool = new ChildPool(module, 2);
    const pids = await Promise.all([ask('p'), ask('p'), ask('p')]);
    expect(new Set(pids).size).toBe(2);
  });

  it.each([
    ['dies of a signal', 'c', /SIGSEGV/],
    ['exits', 'x', /exit code 3/],
  ])('blames the audio and goes on with a new child when one %s', async (_, order, message) => {
    const before = await ask('p');
    const fault = await ask(order).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(EngineError);
    expect(fault).toMatchObject({ audioSuspected: true, message: expect.stringMatching(message) });
    expect(await ask('p')).not.toBe(before);
  });

  // Without prlimit (macOS) nothing is limited.
  const limited = findProgram('prlimit') ? it.each : it.skip.each;
  limited([
    ['takes too much memory', 'm', /SIGABRT|SIGTRAP|SIGILL|exit code/],
    ['writes a file', 'w', /exit code 1/],
    ['opens too many files', 'o', /exit code 1/],
  ])('blames the audio and goes on with a new child when one %s', async (_, order, message) => {
    const before = await ask('p');
    await expect(ask(order)).rejects.toMatchObject({
      audioSuspected: true,
      message: expect.stringMatching(message),
    });
    expect(await ask('p')).not.toBe(before);
    expect(await readdir(folder)).not.toContain('core');
  });

  it('keeps what a crashed child wrote as the cause', async () => {
    await expect(ask('x')).rejects.toMatchObject({ cause: expect.stringContaining('out of luck') });
  });

  it('kills a child that hangs, also in a call that never returns', async () => {
    await expect(ask('h', 200)).rejects.toMatchObject({
      audioSuspected: true,
      message: expect.stringMatching(/no answer/),
    });
    expect(await ask('a')).toBe('a');
  });

  it('drops a waiting piece and lets a piece under way end unheard when they are aborted', async () => {
    const stop = new AbortController();
    const underWay = ask('s', LIMIT_MS, stop.signal);
    const waiting = ask('c', LIMIT_MS, stop.signal);
    const after = ask('a');
    await delay(50);
    stop.abort(new Error('not wanted'));
    await expect(underWay).rejects.toThrow('not wanted');
    await expect(waiting).rejects.toThrow('not wanted');
    expect(await after).toBe('a');
  });

  it('lets its children see no secret', async () => {
    process.env.SECRET_KEY = 'a secret of this process';
    const seen = JSON.parse(await ask('e')) as Record<string, string>;
    delete process.env.SECRET_KEY;
    expect(Object.keys(seen)).toContain('PATH');
    expect(seen).not.toHaveProperty('SECRET_KEY');
  });

  it('names what is missing, without blaming the audio', async () => {
    const unable = path.join(folder, 'unable.mjs');
    await writeFile(unable, UNABLE_CHILD);
    const broken = new ChildPool(unable, 1);
    expect(await broken.problem()).toBe('Install the library');
    const fault = await broken
      .recognise(Buffer.from('a'), LIMIT_MS, new AbortController().signal)
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ message: 'Install the library', audioSuspected: false });
    await broken.close();
    expect(await pool.problem()).toBeNull();
  });

  it('ends pieces under way when it is closed, and does not blame them', async () => {
    await ask('a');
    const underWay = ask('h');
    underWay.catch(() => undefined);
    await delay(50);
    await pool.close();
    await expect(underWay).rejects.toMatchObject({ audioSuspected: false });
    await expect(ask('a')).rejects.toThrow('closed');
  });
});
