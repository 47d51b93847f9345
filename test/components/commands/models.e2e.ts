import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually } from '../../../src/testing/eventually.js';
import { sampleModel } from '../../support/models/sample-model.js';
import { writeStreamingCtcModel } from '../../support/models/streaming-tone-models.js';
import { ROOT } from '../../support/paths.js';
import { ConnectProxy } from '../../support/servers/connect-proxy.js';
import { freePort } from '../../support/servers/free-port.js';
import { ModelSource } from '../../support/servers/model-source.js';
import { type CommandResult, runBuilt } from '../../support/service/cli.js';

const FILE = 'dist/commands/models.js';
const ENTRY = {
  name: 'small',
  title: 'Small',
  kind: 'nemo-ctc',
  languages: ['en'],
  repository: 'acme/small',
  files: ['model.int8.onnx', 'tokens.txt'],
};

describe('npm run models', () => {
  const files = sampleModel(2_000_000);
  const digest = createHash('sha256')
    .update(files['model.int8.onnx'] ?? '')
    .digest('hex');
  const part = `model.int8.onnx.${digest}.part`;
  let source: ModelSource;
  let folder: string;
  let work: string;

  beforeEach(async () => {
    source = await ModelSource.start();
    source.publish('acme/small', files);
    folder = mkdtempSync(join(tmpdir(), 'voice-notes-models-'));
    work = join(folder, '.work', 'small');
    writeFileSync(join(folder, 'catalogue.json'), JSON.stringify([ENTRY]));
  });
  afterEach(async () => {
    await source.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const variables = (more: Record<string, string> = {}) => ({ MODELS_FOLDER: folder, MODELS_URL: source.url, ...more });
  const run = (args: string[], more: Record<string, string> = {}): Promise<CommandResult> =>
    runBuilt({ variables: variables(more) }, FILE, ...args);

  async function json(...args: string[]) {
    const said = await run([...args, '--json']);
    expect({ code: said.code, stdout: said.stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\{.*\}\n$/) });
    return JSON.parse(said.stdout);
  }

  /** A command that goes on until the test stops it. */
  function start(...args: string[]) {
    const env = { PATH: process.env.PATH, ...variables() };
    const child = spawn(process.execPath, [FILE, ...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return {
      child,
      result: ended.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number | null })),
    };
  }

  /** Part of the model is on the disk. */
  const hasBegun = () => eventually(() => (statSync(join(work, part), { throwIfNoEntry: false })?.size ?? 0) > 0);

  it('needs no database for help and usage errors', async () => {
    const [help, wrong, name] = await Promise.all([run(['--help']), run(['pull']), run(['use', '../x'])]);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('pull [options] <name>') });
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("missing required argument 'name'") });
    expect(name).toMatchObject({ code: 1, stderr: expect.stringContaining('lower-case letters, digits') });
  });

  it('pulls, selects, lists, verifies and removes a model', async () => {
    const pulled = await run(['pull', 'small', '--use']);
    expect(pulled).toMatchObject({ code: 0, stdout: expect.stringContaining('Selected: workers use it') });
    const lines = pulled.stderr.match(/^ {2}small +\d+ %.*$/gm) ?? [];
    expect([lines.length > 5 && lines.length < 12, lines.at(-1)]).toEqual([
      true,
      '  small         100 %   2.0 MB of 2.0 MB',
    ]);

    const { installed, catalogue, source: address } = await json('list');
    expect(address).toBe(source.url);
    expect(installed).toMatchObject([
      { name: 'small', selected: true, verified: new Date().toISOString().slice(0, 10), record: { kind: 'nemo-ctc' } },
    ]);
    expect(catalogue[0]).toMatchObject({ name: 'small', languages: ['english'], approximate_bytes: null });
    expect((await run(['list'])).stdout).toMatch(/^ {2}small +yes +2\.0 MB +nemo-ctc +english/m);

    expect(await run(['verify'])).toMatchObject({ code: 0, stdout: 'small: 2 files, 2.0 MB, all as recorded\n' });
    appendFileSync(join(folder, 'small', 'tokens.txt'), 'c 3\n');
    expect(await run(['verify', 'small'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('tokens.txt has '),
    });

    const refused = await run(['remove', 'small']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is the selected model') });
    await json('remove', 'small', '--force');
    expect((await json('list')).installed).toEqual([]);
    expect(await run(['use', 'small'])).toMatchObject({ code: 1, stderr: expect.stringContaining('pull small') });
  });

  it('finds bytes that have changed in a file of the same size', async () => {
    await json('pull', 'small');
    const changed = Buffer.from(files['model.int8.onnx'] ?? []);
    changed.writeUInt8(changed.readUInt8(1_000_000) ^ 1, 1_000_000);
    writeFileSync(join(folder, 'small', 'model.int8.onnx'), changed);
    const said = await run(['verify']);
    expect(said).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/NOT as recorded\n {2}model\.int8\.onnx has changed/),
    });
  });

  it('keeps what it has received at Ctrl-C, also when it is killed, and continues with it', async () => {
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      source.pauseMs = 20;
      const before = source.ranges.length;
      const { child, result } = start('pull', 'small');
      await hasBegun();
      child.kill(signal);
      const ended = await result;
      if (signal === 'SIGINT') {
        expect(ended).toMatchObject({
          code: 130,
          stderr: expect.stringContaining('Interrupted. The next pull continues'),
        });
        expect(readdirSync(join(folder, '.locks'))).toEqual([]);
      }
      expect(readdirSync(work)).toContain(part);
      source.pauseMs = 0;
      await json('pull', 'small');
      expect(source.ranges[before + 1]).toMatch(/^bytes=[1-9]\d+-$/);
      expect(await run(['verify'])).toMatchObject({ code: 0 });
      await json('remove', 'small');
    }
  });

  it('downloads once when two processes ask at the same time', async () => {
    source.pauseMs = 5;
    const both = await Promise.all([run(['pull', 'small', '--json']), run(['pull', 'small', '--json'])]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.filter(({ stdout }) => JSON.parse(stdout).downloaded)).toHaveLength(1);
    expect(both.map(({ stderr }) => stderr).join('')).toMatch(/Waiting for process \d+ on /);
    expect(source.ranges).toEqual([null]);
  });

  it('goes through a proxy, also with credentials, and around it for hosts in NO_PROXY', async () => {
    const proxy = await ConnectProxy.start('user:s3cret');
    try {
      const through = await run(['pull', 'small', '--json'], { HTTP_PROXY: `http://user:s3cret@${proxy.address}` });
      expect(through).toMatchObject({ code: 0 });
      expect(new Set(proxy.hosts).size).toBe(2);

      const seen = proxy.hosts.length;
      const refused = await run(['pull', 'small', '--update'], { HTTP_PROXY: `http://user:wr0ng@${proxy.address}` });
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain(`HTTP_PROXY=http://${proxy.address}`);
      expect(refused.stderr).not.toContain('wr0ng');
      const around = { HTTP_PROXY: `http://${proxy.address}`, NO_PROXY: '127.0.0.1' };
      expect(await run(['pull', 'small', '--update'], around)).toMatchObject({ code: 0 });
      expect(proxy.hosts).toHaveLength(seen);
    } finally {
      await proxy.close();
    }
  });

  it('says what to do without a network', async () => {
    const said = await run(['pull', 'small'], { MODELS_URL: `http://127.0.0.1:${await freePort()}` });
    expect(said.code).toBe(1);
    expect(said.stderr).toMatch(
      /No answer from http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\.\n- Behind a proxy: set HTTPS_PROXY/,
    );
    expect(said.stderr).toContain('models -- add FOLDER --name small');
  });

  it('adds a model from a folder: what it needs, and only if it is one', async () => {
    const given = join(folder, '.given', 'Ours');
    mkdirSync(join(given, 'test_wavs'), { recursive: true });
    for (const [name, bytes] of Object.entries({ ...files, 'model.onnx': 'x', 'a.wav': 'x', LICENSE: 'MIT' }))
      writeFileSync(join(given, name), bytes);

    const { model } = await json('add', given, '--languages', 'de,english', '--use');
    expect(model).toMatchObject({
      name: 'ours',
      selected: true,
      record: { languages: ['german', 'english'], kind: 'nemo-ctc' },
    });
    expect(readdirSync(join(folder, 'ours')).toSorted()).toEqual([
      'LICENSE',
      'model.int8.onnx',
      'model.json',
      'tokens.txt',
    ]);
    rmSync(given, { recursive: true });
    expect(await run(['verify', 'ours'])).toMatchObject({ code: 0 });

    const [again, nothing] = await Promise.all([
      run(['add', join(folder, 'ours')]),
      run(['add', folder, '--name', 'x']),
    ]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('There is a model ours already') });
    expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('holds no model') });

    rmSync(join(folder, 'ours', 'tokens.txt'));
    expect(await run(['use', 'ours'])).toMatchObject({ code: 1, stderr: expect.stringContaining('lacks tokens.txt') });
  });

  it('selects a streaming model beside the other', async () => {
    const given = await writeStreamingCtcModel(join(folder, '.given', 'live'));
    await json('pull', 'small', '--use');
    const { model } = await json('add', given, '--use');
    expect(model).toMatchObject({ name: 'live', selected: true, record: { kind: 'streaming-zipformer-ctc' } });
    const { installed } = await json('list');
    expect(installed).toMatchObject([
      { name: 'live', selected: true },
      { name: 'small', selected: true },
    ]);
  });

  const disk = mkdtempSync(join(tmpdir(), 'voice-notes-disk-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=68m', 'voice-notes', disk]).status === 0;
  afterAll(() => {
    if (isMounted) spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  (isMounted ? it : it.skip)('keeps what it has when the disk becomes full, and continues when it is not', async () => {
    writeFileSync(join(disk, 'catalogue.json'), JSON.stringify([ENTRY]));
    source.pauseMs = 20;
    const pulling = run(['pull', 'small'], { MODELS_FOLDER: disk });
    await eventually(() => existsSync(join(disk, '.work', 'small', part)));
    spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=1M', 'count=100']);
    const full = await pulling;
    expect(full).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/The disk of .* is full\. Free space .* it continues/),
    });

    const none = await run(['pull', 'small'], { MODELS_FOLDER: disk });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/has 0 MB free, and \d+ MB are needed/) });
    rmSync(join(disk, 'filler'));
    source.pauseMs = 0;
    expect(await run(['pull', 'small'], { MODELS_FOLDER: disk })).toMatchObject({ code: 0 });
    expect(await run(['verify'], { MODELS_FOLDER: disk })).toMatchObject({ code: 0 });
  });
});
