import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encoded } from '../../support/audio/encoded.js';
import { FakeOpenAiServer } from '../../support/servers/fake-openai-server.js';
import { runBuilt } from '../../support/service/cli.js';
import { SPEECH } from '../../../src/testing/speech.js';

const FILES = new Set(['go-forward-ten-meters.wav', 'ss-0880.wav', 'cards-001.wav', 'leopard-de.wav']);

describe('npm run accuracy', () => {
  let folder: string;
  let out: string;

  const accuracy = (args: string[], variables: Record<string, string> = {}) =>
    runBuilt({ variables: { NODE_ENV: 'test', ...variables } }, 'dist/commands/accuracy.js', ...args);
  const measured = async (...args: string[]) => {
    const { code, stdout, stderr } = await accuracy(['--out', out, ...args, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'accuracy-'));
    out = join(folder, 'out');
    const all = JSON.parse(await readFile(join(SPEECH, 'manifest.json'), 'utf8')) as { file: string }[];
    const entries = all.filter(({ file }) => FILES.has(file));
    const list = entries.map((entry) => ({ ...entry, file: join(SPEECH, entry.file) }));
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(list));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('measures an engine of the service: errors, speed, confidence, and what it left out', async () => {
    const result = await measured('--engine', 'pocketsphinx', folder);
    expect(result).toMatchObject({
      engine: 'pocketsphinx',
      model: 'en-us',
      rawConfidence: false,
      skipped: [{ file: expect.stringContaining('leopard-de'), reason: 'the engine does not support german' }],
      summary: { errors: [{ lang: 'english', unit: 'word', units: 15, files: 3 }] },
    });
    const { errors, realTimeFactor, reliability } = result.summary;
    expect(errors[0].rate).toBeLessThan(0.5);
    expect(errors[0].interval.low).toBeLessThanOrEqual(errors[0].rate);
    expect(realTimeFactor.wall).toBeGreaterThan(0);
    // The engine works in children, which count.
    if (process.platform === 'linux') expect(realTimeFactor.cpu).toBeGreaterThan(0.02);
    expect(reliability.words).toBeGreaterThan(5);
    expect(await readdir(out)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^pocketsphinx-en-us-.*\.json$/), expect.stringMatching(/\.svg$/)]),
    );
  });

  it('measures a part of LibriSpeech as it is unpacked, by both rules, and a sample of it', async () => {
    const part = join(folder, 'LibriSpeech', 'test-clean');
    const said: [chapter: string, source: string, ref: string][] = [
      ['61-70968', 'go-forward-ten-meters.wav', 'GO FORWARD TEN METERS'],
      ['61-70970', 'cards-001.wav', 'TEN OF CLUBS'],
      ['121-121726', 'ss-0880.wav', 'HE WAS NOT AN ILL DISPOSED YOUNG MAN'],
    ];
    for (const [name, source, ref] of said) {
      const chapter = join(part, ...name.split('-'));
      await mkdir(chapter, { recursive: true });
      await writeFile(join(chapter, `${name}.trans.txt`), `${name}-0000 ${ref}\n`);
      await writeFile(join(chapter, `${name}-0000.flac`), await encoded(source, 'flac'));
    }
    const { recordings, skipped, files, summary } = await measured('--engine', 'pocketsphinx', part);
    expect({ recordings, skipped, files: files.length }).toEqual({ recordings: 'test-clean', skipped: [], files: 3 });
    const [errors] = summary.errors;
    expect(errors).toMatchObject({ lang: 'english', units: 15, leaderboard: { units: 15 } });
    expect(errors.leaderboard.rate).toBeLessThan(0.5);
    const sample = await measured('--engine', 'pocketsphinx', '--sample', '2', part);
    expect(sample.files.map(({ file }: { file: string }) => file)).toEqual([
      '121/121726/121-121726-0000.flac',
      '61/70968/61-70968-0000.flac',
    ]);
  });

  it('compares two engines, and two results', async () => {
    const server = await FakeOpenAiServer.start();
    try {
      const variables = { OPENAI_BASE_URL: server.baseUrl };
      const args = ['--out', out, '--compare', 'pocketsphinx', 'openai:some-model', folder, '--limit', '3'];
      const { code, stdout, stderr } = await accuracy(args, variables);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/openai some-model compared with pocketsphinx en-us: 3 recordings/);
      expect(stdout).toMatch(/p = \d/);
    } finally {
      await server.stop();
    }
    const saved = (await readdir(out)).filter((name) => name.endsWith('.json')).map((name) => join(out, name));
    const [first = '', second = ''] = saved.filter((name) => !name.includes('test-clean'));
    const { comparisons } = await measured('--compare', first, second);
    expect(comparisons).toHaveLength(1);
  });

  it('fits a mapping to what the engine itself reports', async () => {
    await measured('--engine', 'pocketsphinx', '--raw', folder);
    const raw = (await readdir(out)).find((name) => name.endsWith('-raw.json')) ?? '';
    const { points, words } = await measured('--fit', join(out, raw));
    expect(words).toBeGreaterThan(5);
    expect(points.length).toBeGreaterThan(0);
  });

  it.each([
    [['--engine', 'nothing', '{folder}'], /TRANSCRIPTION_ENGINE must be one of auto, /],
    [['--engine', 'pocketsphinx', '/nowhere'], /Cannot read \/nowhere\/manifest\.json \(ENOENT\)/],
    [['--engine', 'pocketsphinx', '--model', 'x', '{folder}'], /pocketsphinx has no other models/],
    [['--compare', 'pocketsphinx'], /--compare needs two engines and a folder, or two results/],
    [['--limit', '0', '{folder}'], /must be an integer from 1 to/],
    [[], /missing required argument 'paths'/],
  ])('refuses %j, and says why', async (args, message) => {
    const { code, stdout, stderr } = await accuracy(args.map((arg) => arg.replace('{folder}', folder)));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('names the item and the field of a manifest that is wrong', async () => {
    const broken = await mkdtemp(join(tmpdir(), 'accuracy-'));
    try {
      await writeFile(
        join(broken, 'manifest.json'),
        '[{"file":"a.wav","ref":"a"},{"file":"b.wav","ref":"b","lang":"x1"}]',
      );
      expect((await accuracy([broken])).stderr).toMatch(/item 2: lang must be the name or code of a language: "x1"/);
    } finally {
      await rm(broken, { recursive: true });
    }
  });
});
