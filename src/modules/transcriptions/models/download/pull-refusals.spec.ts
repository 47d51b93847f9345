import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { ENTRY, FILES, PullSetup } from '../../../../../test/support/models/pull-setup.js';
import { ModelSource } from '../../../../../test/support/servers/model-source.js';
import type { PulledModel } from './pull-model.js';

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
