import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleModel } from '../../../../../test/support/models/sample-model.js';
import { ModelSource } from '../../../../../test/support/servers/model-source.js';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.js';
import { ModelsFolder } from '../models-folder.js';
import { type PullContext, type PulledModel, pullModel } from './pull-model.js';
import type { DownloadTiming } from './retries.js';
import { SourceClient } from './source-client.js';

const TIMING: DownloadTiming = {
  connectMs: 1000,
  stallMs: 150,
  firstPauseMs: 5,
  longestPauseMs: 20,
  longestRetryAfterMs: 50,
  tries: 4,
};
const ENTRY: CatalogueEntry = {
  name: 'small',
  title: 'Small',
  kind: 'nemo-ctc',
  languages: ['en'],
  licence: null,
  speed: 'fast',
  approximateBytes: null,
  repository: 'acme/small',
  revision: 'main',
  files: ['model.int8.onnx', 'tokens.txt'],
};

describe('pullModel', () => {
  const files = sampleModel();
  const size = files['model.int8.onnx']?.length ?? 0;
  let source: ModelSource;
  let root: string;
  let models: ModelsFolder;
  let said: string[];

  beforeEach(async () => {
    source = await ModelSource.start();
    root = mkdtempSync(path.join(tmpdir(), 'voice-notes-pull-'));
    models = new ModelsFolder(root);
    said = [];
  });
  afterEach(async () => {
    await source.close();
    rmSync(root, { recursive: true, force: true });
  });

  async function pull(
    changes: Partial<PullContext> & { hfToken?: string; entry?: CatalogueEntry; url?: string } = {},
  ): Promise<PulledModel> {
    const { hfToken = null, entry = ENTRY, url = source.url, ...context } = changes;
    const client = new SourceClient({ modelsUrl: url, hfToken }, TIMING);
    try {
      return await pullModel(models, entry, {
        client,
        timing: TIMING,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        onRetry: ({ message }) => said.push(message),
        onWait: (holder) => said.push(`waiting for ${holder}`),
        ...context,
      });
    } finally {
      await client.close();
    }
  }

  const installed = (): Buffer => readFileSync(path.join(root, 'small', 'model.int8.onnx'));
  /** Also that nothing is left behind. */
  function expectInstalled(): void {
    expect(installed().equals(files['model.int8.onnx'] ?? Buffer.alloc(0))).toBe(true);
    expect(readdirSync(path.join(root, 'small')).toSorted()).toEqual(['model.int8.onnx', 'model.json', 'tokens.txt']);
    expect(readdirSync(path.join(root, '.work'))).toEqual([]);
    expect(readdirSync(path.join(root, '.locks'))).toEqual([]);
  }

  it('downloads the files of the commit, checks their digests and records them', async () => {
    const commit = source.publish('acme/small', { ...files, 'other.onnx': 'x', LICENSE: 'MIT', 'bpe.vocab': 'a' });
    const progress: [number, number][] = [];
    const { record, isNew } = await pull({ onProgress: (received, total) => progress.push([received, total]) });

    expect(isNew).toBe(true);
    expect(record).toMatchObject({
      name: 'small',
      kind: 'nemo-ctc',
      languages: ['english'],
      source: { address: source.url, repository: 'acme/small', revision: commit },
    });
    expect(record.files.map(({ name, published }) => [name, published?.algorithm])).toEqual([
      ['model.int8.onnx', 'sha256'],
      ['tokens.txt', 'git-sha1'],
      ['LICENSE', 'git-sha1'],
      ['bpe.vocab', 'git-sha1'],
    ]);
    expect(record.files.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256))).toBe(true);
    const [received, total] = progress.at(-1) ?? [];
    expect([received, total]).toEqual([total, size + (files['tokens.txt']?.length ?? 0) + 4]);
    expect(existsSync(path.join(root, 'small', 'other.onnx'))).toBe(false);
  });

  it('asks nobody when the model is there, and with update only for what has changed', async () => {
    source.publish('acme/small', files);
    await pull();
    source.requests.length = 0;
    expect(await pull()).toMatchObject({ isNew: false });
    expect(source.requests).toEqual([]);

    expect(await pull({ update: true })).toMatchObject({ isNew: false });
    expect(source.ranges).toEqual([]);

    const commit = source.publish('acme/small', { ...files, 'tokens.txt': 'c 0\n<blk> 1\n' });
    expect(await pull({ update: true })).toMatchObject({ isNew: true, record: { source: { revision: commit } } });
    expect(readFileSync(path.join(root, 'small', 'tokens.txt'), 'utf8')).toContain('c 0');
  });

  it('replaces a model that came from another repository', async () => {
    source.publish('acme/other', sampleModel());
    source.publish('acme/small', files);
    await pull({ entry: { ...ENTRY, repository: 'acme/other' } });
    expect(await pull()).toMatchObject({ isNew: true });
    expectInstalled();
  });

  it('downloads again what is incomplete', async () => {
    source.publish('acme/small', files);
    await pull();
    writeFileSync(path.join(root, 'small', 'tokens.txt'), '');
    expect(await pull()).toMatchObject({ isNew: true });
    expectInstalled();
  });

  it('continues where a connection was cut, also several times', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'cut', afterBytes: 100_000 }, { kind: 'cut', afterBytes: 50_000 });
    await pull();
    expectInstalled();
    const [first, second, third] = source.ranges;
    expect([first, source.ranges.length]).toEqual([null, 3]);
    for (const range of [second, third]) expect(range).toMatch(/^bytes=[1-9]\d+-$/);
    expect(said).toHaveLength(2);
  });

  it('continues after a stall', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'stall', afterBytes: 100_000 });
    await pull();
    expectInstalled();
    expect(source.ranges).toEqual([null, expect.stringMatching(/^bytes=\d+-$/)]);
    expect(said[0]).toContain('UND_ERR_BODY_TIMEOUT');
  });

  it('continues in another run after an interruption, and releases its lock', async () => {
    source.publish('acme/small', files);
    source.pauseMs = 5;
    const controller = new AbortController();
    const onProgress = (received: number): void => {
      if (received > 100_000) controller.abort(new Error('Ctrl-C'));
    };
    await expect(pull({ signal: controller.signal, onProgress })).rejects.toThrow('Ctrl-C');
    expect(existsSync(path.join(root, 'small'))).toBe(false);
    expect(readdirSync(path.join(root, '.locks'))).toEqual([]);

    source.pauseMs = 0;
    source.requests.length = 0;
    await pull();
    expectInstalled();
    const [range] = source.ranges;
    expect(Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1])).toBeGreaterThanOrEqual(100_000);
  });

  it('starts anew when the file has changed since', async () => {
    const other = sampleModel();
    source.publish('acme/small', other);
    source.faults.push(...Array.from({ length: 4 }, () => ({ kind: 'cut', afterBytes: 20_000 }) as const));
    const controller = new AbortController();
    const onRetry = (): void => controller.abort(new Error('stop'));
    await expect(pull({ signal: controller.signal, onRetry })).rejects.toThrow('stop');

    source.faults.length = 0;
    source.publish('acme/small', files);
    source.requests.length = 0;
    await pull();
    expectInstalled();
    expect(source.ranges).toEqual([null]);
  });

  it('starts anew when the server sends the whole file in place of the rest', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'cut', afterBytes: 100_000 }, { kind: 'no-ranges' });
    await pull();
    expectInstalled();
  });

  it('sends the entity tag with which a file began, so that a changed one comes as a whole', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'cut', afterBytes: 100_000 });
    await pull();
    const second = source.requests.filter(({ host }) => host === 'content')[1];
    expect(second?.headers['if-range']).toMatch(/^"[0-9a-f]{64}"$/);
  });

  it('removes a file with a wrong digest and says so', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'wrong-bytes' });
    await expect(pull()).rejects.toThrow(
      /acme\/small\/model\.int8\.onnx is not the file .* and was removed\.\n.*announced/s,
    );
    expect(existsSync(path.join(root, 'small'))).toBe(false);
    expect(readdirSync(path.join(root, '.work', 'small'))).toEqual(['.plan.json']);
    await pull();
    expectInstalled();
  });

  it('checks small files by the digest that Git gives them', async () => {
    source.publish('acme/small', files);
    await pull();
    const { record } = await pull();
    const tokens = record.files.find(({ name }) => name === 'tokens.txt');
    expect(tokens?.published?.value).toMatch(/^[0-9a-f]{40}$/);
  });

  it('waits and tries again after 429 and 5xx, as long as the source asks for', async () => {
    source.publish('acme/small', files);
    source.apiFaults.push({ kind: 'status', status: 503 });
    source.faults.push({ kind: 'status', status: 429, retryAfter: '1' }, { kind: 'status', status: 500 });
    const pauses: number[] = [];
    await pull({ onRetry: (_, pauseMs) => pauses.push(pauseMs) });
    expectInstalled();
    expect(pauses).toEqual([5, 50, 10]);
  });

  it('gives up after failures without progress, and keeps what it has', async () => {
    source.publish('acme/small', files);
    source.faults.push({ kind: 'cut', afterBytes: 100_000 });
    source.faults.push(...Array.from({ length: 3 }, () => ({ kind: 'status', status: 502 }) as const));
    await expect(pull()).rejects.toThrow('answers 502');
    source.requests.length = 0;
    await pull();
    expectInstalled();
    expect(source.ranges).toEqual([expect.stringMatching(/^bytes=\d+-$/)]);
  });

  it.each([
    [
      'a repository that is not there',
      { repository: 'acme/none' },
      /answers 401\. It does not exist, or needs a token: set HF_TOKEN/,
    ],
    ['a revision that is not there', { revision: 'v9' }, /revision\/v9 does not exist \(404\)/],
    [
      'a file that is not there',
      { files: ['encoder.onnx'] },
      /has no file encoder\.onnx\. There: model\.int8\.onnx, tokens\.txt/,
    ],
  ])('names %s', async (_, changes, message) => {
    source.publish('acme/small', files);
    await expect(pull({ entry: { ...ENTRY, ...changes } })).rejects.toThrow(message);
    expect(said).toEqual([]);
  });

  it('sends the token to the source and to nobody else, and shows it nowhere', async () => {
    source.publish('acme/small', files);
    source.token = 'hf_s3cret';
    await expect(pull()).rejects.toThrow('set HF_TOKEN');
    await expect(pull({ hfToken: 'hf_other' })).rejects.toThrow(
      /^(?!.*hf_other).*The token in HF_TOKEN gives no access/,
    );
    await pull({ hfToken: 'hf_s3cret' });
    expectInstalled();
    const content = source.requests.filter(({ host }) => host === 'content');
    expect(content.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(readFileSync(path.join(root, 'small', 'model.json'), 'utf8')).not.toContain('hf_s3cret');
  });

  it('sends a token over http to this machine only', async () => {
    await expect(pull({ url: 'http://mirror.example.com', hfToken: 'hf_s3cret' })).rejects.toThrow(
      'sent by https only',
    );
  });

  it('takes files from folders of the repository', async () => {
    source.publish('acme/small', {
      'exp/model.int8.onnx': files['model.int8.onnx'] ?? '',
      'lang/tokens.txt': files['tokens.txt'] ?? '',
    });
    await pull({ entry: { ...ENTRY, files: ['exp/model.int8.onnx', 'lang/tokens.txt'] } });
    expectInstalled();
  });

  it('refuses to begin without space, and says how much is needed', async () => {
    source.publish('acme/small', files);
    await expect(pull({ freeBytes: () => Promise.resolve(1e6) })).rejects.toThrow(
      /has 1 MB free, and 68 MB are needed.*MODELS_FOLDER/,
    );
    expect(source.ranges).toEqual([]);
  });

  it('installs nothing that is no model', async () => {
    source.publish('acme/small', { ...files, 'model.int8.onnx': 'no model' });
    await expect(pull()).rejects.toThrow(/model\.int8\.onnx/);
    expect(existsSync(path.join(root, 'small'))).toBe(false);
  });

  it('downloads once when asked twice at the same time', async () => {
    source.publish('acme/small', files);
    source.pauseMs = 2;
    const both = await Promise.all([pull(), delay(20).then(() => pull())]);
    expect(both.map(({ isNew }) => isNew)).toEqual([true, false]);
    expect(source.ranges).toEqual([null]);
    expect(said).toEqual([expect.stringContaining(`waiting for process ${process.pid}`)]);
    expectInstalled();
  });

  it('takes over the lock of a process that has ended', async () => {
    source.publish('acme/small', files);
    const held = models.lockOf('small');
    await pull();
    rmSync(path.join(root, 'small'), { recursive: true });
    writeFileSync(held, JSON.stringify({ host: (await import('node:os')).hostname(), pid: 2 ** 22 + 1, started: '1' }));
    await pull();
    expectInstalled();
  });

  it('says that nothing answers', async () => {
    const { url } = source;
    await source.close();
    await expect(pull({ url })).rejects.toThrow(`No answer from ${url} (ECONNREFUSED)`);
    expect(said).toHaveLength(2);
    source = await ModelSource.start();
  });
});
