import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { ENTRY, FILES, PullSetup } from '../../../test/support/models/pull-setup.js';
import { sampleModel } from '../../../test/support/models/sample-model.js';
import { ModelSource } from '../../../test/support/servers/model-source.js';
import type { PulledModel } from './pull-model.js';

describe('pullModel', () => {
  const size = FILES['model.int8.onnx']?.length ?? 0;
  let setup: PullSetup;

  beforeEach(async () => {
    setup = await PullSetup.start();
  });
  afterEach(() => setup.stop());

  it('downloads the files of the commit, checks their digests and records them', async () => {
    const commit = setup.source.publish('acme/small', {
      ...FILES,
      'other.onnx': 'x',
      LICENSE: 'MIT',
      'bpe.vocab': 'a',
    });
    const progress: [number, number][] = [];
    const { record, isNew } = await setup.pull({ onProgress: (received, total) => progress.push([received, total]) });

    expect(isNew).toBe(true);
    expect(record).toMatchObject({
      name: 'small',
      kind: 'nemo-ctc',
      languages: ['english'],
      source: { address: setup.source.url, repository: 'acme/small', revision: commit },
    });
    expect(record.files.map(({ name, published }) => [name, published?.algorithm])).toEqual([
      ['model.int8.onnx', 'sha256'],
      ['tokens.txt', 'git-sha1'],
      ['LICENSE', 'git-sha1'],
      ['bpe.vocab', 'git-sha1'],
    ]);
    expect(record.files.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256))).toBe(true);
    const [received, total] = progress.at(-1) ?? [];
    expect([received, total]).toEqual([total, size + (FILES['tokens.txt']?.length ?? 0) + 4]);
    expect(existsSync(path.join(setup.root, 'small', 'other.onnx'))).toBe(false);
  });

  it('finds files on every page of a listing', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.pageSize = 1;
    await setup.pull();
    setup.expectInstalled();
  });

  it('asks nobody when the model is there, and with update only for what has changed', async () => {
    setup.source.publish('acme/small', FILES);
    await setup.pull();
    setup.source.requests.length = 0;
    expect(await setup.pull()).toMatchObject({ isNew: false });
    expect(setup.source.requests).toEqual([]);

    expect(await setup.pull({ update: true })).toMatchObject({ isNew: false });
    expect(setup.source.ranges).toEqual([]);

    const commit = setup.source.publish('acme/small', { ...FILES, 'tokens.txt': 'c 0\n<blk> 1\n' });
    expect(await setup.pull({ update: true })).toMatchObject({ isNew: true, record: { source: { revision: commit } } });
    expect(readFileSync(path.join(setup.root, 'small', 'tokens.txt'), 'utf8')).toContain('c 0');
  });

  it('replaces a model that came from another repository', async () => {
    setup.source.publish('acme/other', sampleModel());
    setup.source.publish('acme/small', FILES);
    await setup.pull({ entry: { ...ENTRY, repository: 'acme/other' } });
    expect(await setup.pull()).toMatchObject({ isNew: true });
    setup.expectInstalled();
  });

  it('downloads again what is incomplete', async () => {
    setup.source.publish('acme/small', FILES);
    await setup.pull();
    writeFileSync(path.join(setup.root, 'small', 'tokens.txt'), '');
    expect(await setup.pull()).toMatchObject({ isNew: true });
    setup.expectInstalled();
  });

  it('continues where a connection was cut, also several times', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.faults.push({ kind: 'cut', afterBytes: 100_000 }, { kind: 'cut', afterBytes: 50_000 });
    await setup.pull();
    setup.expectInstalled();
    expect(setup.source.ranges).toEqual([null, 'bytes=100000-', 'bytes=150000-']);
    expect(setup.said).toHaveLength(2);
  });

  it('continues after a stall', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.faults.push({ kind: 'stall', afterBytes: 100_000 });
    await setup.pull({ stallMs: 1000 });
    setup.expectInstalled();
    expect(setup.source.ranges).toEqual([null, 'bytes=100000-']);
    expect(setup.said[0]).toContain('UND_ERR_BODY_TIMEOUT');
  });

  it('continues in another run after an interruption, and releases its lock', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.pauseMs = 5;
    const controller = new AbortController();
    const onProgress = (received: number): void => {
      if (received > 100_000) controller.abort(new Error('Ctrl-C'));
    };
    await expect(setup.pull({ signal: controller.signal, onProgress })).rejects.toThrow('Ctrl-C');
    expect(existsSync(path.join(setup.root, 'small'))).toBe(false);
    expect(readdirSync(path.join(setup.root, '.locks'))).toEqual([]);

    setup.source.pauseMs = 0;
    setup.source.requests.length = 0;
    await setup.pull();
    setup.expectInstalled();
    const [range] = setup.source.ranges;
    expect(Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1])).toBeGreaterThanOrEqual(100_000);
  });

  it('starts anew when the file has changed since', async () => {
    const other = sampleModel();
    setup.source.publish('acme/small', other);
    setup.source.faults.push(...Array.from({ length: 4 }, () => ({ kind: 'cut', afterBytes: 20_000 }) as const));
    const controller = new AbortController();
    const onRetry = (): void => controller.abort(new Error('stop'));
    await expect(setup.pull({ signal: controller.signal, onRetry })).rejects.toThrow('stop');

    setup.source.faults.length = 0;
    setup.source.publish('acme/small', FILES);
    setup.source.requests.length = 0;
    await setup.pull();
    setup.expectInstalled();
    expect(setup.source.ranges).toEqual([null]);
  });

  it('starts anew when the server sends the whole file in place of the rest', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.faults.push({ kind: 'cut', afterBytes: 100_000 }, { kind: 'no-ranges' });
    await setup.pull();
    setup.expectInstalled();
  });

  it('removes a file with a wrong digest and says so', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.faults.push({ kind: 'wrong-bytes' });
    await expect(setup.pull()).rejects.toThrow(
      /acme\/small\/model\.int8\.onnx is not the file .* and was removed\.\n.*announced/s,
    );
    expect(existsSync(path.join(setup.root, 'small'))).toBe(false);
    expect(readdirSync(path.join(setup.root, '.work', 'small'))).toEqual([]);
    await setup.pull();
    setup.expectInstalled();
  });

  it('checks small files by the digest that Git gives them', async () => {
    setup.source.publish('acme/small', FILES);
    await setup.pull();
    const { record } = await setup.pull();
    const tokens = record.files.find(({ name }) => name === 'tokens.txt');
    expect(tokens?.published?.value).toMatch(/^[0-9a-f]{40}$/);
  });

  it('waits and tries again after 429 and 5xx, as long as the source asks for', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.apiFaults.push({ kind: 'status', status: 503 });
    setup.source.faults.push({ kind: 'status', status: 429, retryAfter: '1' }, { kind: 'status', status: 500 });
    const pauses: number[] = [];
    await setup.pull({ onRetry: (_, pauseMs) => pauses.push(pauseMs) });
    setup.expectInstalled();
    expect(pauses).toEqual([5, 50, 10]);
  });

  it('gives up after failures without progress, and keeps what it has', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.faults.push({ kind: 'cut', afterBytes: 100_000 });
    setup.source.faults.push(...Array.from({ length: 3 }, () => ({ kind: 'status', status: 502 }) as const));
    await expect(setup.pull()).rejects.toThrow('answers 502');
    setup.source.requests.length = 0;
    await setup.pull();
    setup.expectInstalled();
    expect(setup.source.ranges).toEqual(['bytes=100000-']);
  });
});

describe('pullModel, with what it cannot download', () => {
  let setup: PullSetup;

  beforeEach(async () => {
    setup = await PullSetup.start();
  });
  afterEach(() => setup.stop());

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
    setup.source.publish('acme/small', FILES);
    await expect(setup.pull({ entry: { ...ENTRY, ...changes } })).rejects.toThrow(message);
    expect(setup.said).toEqual([]);
  });

  it('sends the token to the source and to nobody else, and shows it nowhere', async () => {
    setup.source.publish('acme/small', FILES);
    setup.source.token = 'hf_s3cret';
    await expect(setup.pull()).rejects.toThrow('set HF_TOKEN');
    await expect(setup.pull({ hfToken: 'hf_other' })).rejects.toThrow(
      /^(?!.*hf_other).*The token in HF_TOKEN gives no access/,
    );
    await setup.pull({ hfToken: 'hf_s3cret' });
    setup.expectInstalled();
    const content = setup.source.requests.filter(({ host }) => host === 'content');
    expect(content.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(readFileSync(path.join(setup.root, 'small', 'model.json'), 'utf8')).not.toContain('hf_s3cret');
  });

  it('sends a token over http to this machine only', async () => {
    await expect(setup.pull({ url: 'http://mirror.example.com', hfToken: 'hf_s3cret' })).rejects.toThrow(
      'sent by https only',
    );
  });

  it('takes files from folders of the repository', async () => {
    setup.source.publish('acme/small', {
      'exp/model.int8.onnx': FILES['model.int8.onnx'] ?? '',
      'lang/tokens.txt': FILES['tokens.txt'] ?? '',
    });
    await setup.pull({ entry: { ...ENTRY, files: ['exp/model.int8.onnx', 'lang/tokens.txt'] } });
    setup.expectInstalled();
  });

  it('refuses to begin without space, and says how much is needed', async () => {
    setup.source.publish('acme/small', FILES);
    await expect(setup.pull({ freeBytes: () => Promise.resolve(1e6) })).rejects.toThrow(
      /has 1 MB free, and 68 MB are needed.*MODELS_FOLDER/,
    );
    expect(setup.source.ranges).toEqual([]);
  });

  it('installs nothing that is no model', async () => {
    setup.source.publish('acme/small', { ...FILES, 'model.int8.onnx': 'no model' });
    await expect(setup.pull()).rejects.toThrow(/model\.int8\.onnx/);
    expect(existsSync(path.join(setup.root, 'small'))).toBe(false);
  });

  it('downloads once when asked twice at the same time', async () => {
    setup.source.publish('acme/small', FILES);
    let second: Promise<PulledModel> | undefined;
    // The first has the lock when it looks for space, and goes on when the second waits for it.
    const freeBytes = () =>
      new Promise<number>((resolve) => {
        const onWait = (holder: string) => {
          setup.said.push(holder);
          resolve(1e12);
        };
        second = setup.pull({ onWait });
      });
    expect((await setup.pull({ freeBytes })).isNew).toBe(true);
    expect((await second)?.isNew).toBe(false);
    expect(setup.source.ranges).toEqual([null]);
    expect(setup.said).toEqual([expect.stringContaining(`process ${process.pid}`)]);
    setup.expectInstalled();
  });

  it('takes over the lock of a process that has ended', async () => {
    setup.source.publish('acme/small', FILES);
    const held = setup.models.lockOf('small');
    await setup.pull();
    rmSync(path.join(setup.root, 'small'), { recursive: true });
    writeFileSync(held, JSON.stringify({ host: hostname(), pid: 2 ** 22 + 1, started: '1' }));
    await setup.pull();
    setup.expectInstalled();
  });

  it('says that nothing answers', async () => {
    const { url } = setup.source;
    await setup.source.close();
    await expect(setup.pull({ url })).rejects.toThrow(`No answer from ${url} (ECONNREFUSED)`);
    expect(setup.said).toHaveLength(2);
    setup.source = await ModelSource.start();
  });
});
