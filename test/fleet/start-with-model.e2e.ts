import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { wav } from '../support/audio/audio-bytes.js';
import { tonesPcm, writeCtcModel } from '../support/models/tone-models.js';
import { ROOT } from '../support/paths.js';
import { freePort } from '../support/servers/free-port.js';
import { ModelSource } from '../support/servers/model-source.js';

const START_MS = 120_000;
/** What `npm start` looks at in its folder, beside the packages. */
const COPIED = [
  'console',
  'dist',
  'docs/for-assistants.md',
  'nest-cli.json',
  'package.json',
  'package-lock.json',
  'rolldown.config.mjs',
  'scripts',
  'sdk',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
  'tsconfig.release.json',
];
const ENTRY = {
  name: 'tones',
  title: 'Tones',
  kind: 'zipformer-ctc',
  languages: ['en'],
  repository: 'acme/tones',
  files: ['model.onnx', 'tokens.txt'],
};

/** In a copy of the project, because a developer's own start uses its folder. Needs `nest build`. */
describe('npm start -- --model NAME', () => {
  const environment = useEnvironment();
  let source: ModelSource;
  let folder: string;

  beforeAll(async () => {
    source = await ModelSource.start();
    environment.defer(() => source.close());
    folder = await mkdtemp(join(tmpdir(), 'voice-notes-model-'));
    environment.defer(() => rm(folder, { recursive: true, force: true }));
    for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));

    const written = await writeCtcModel(join(folder, 'written'));
    const names = await readdir(written);
    const files = await Promise.all(names.map(async (name) => [name, await readFile(join(written, name))] as const));
    source.publish('acme/tones', Object.fromEntries(files));
    await mkdir(join(folder, '.data', 'models'), { recursive: true });
    await writeFile(join(folder, '.data', 'models', 'catalogue.json'), JSON.stringify([ENTRY]));
  });

  /** Runs the command. `said` is what it has written so far. */
  async function launch(...args: string[]) {
    const port = await freePort();
    const settings = {
      TRANSCRIPTION_ENGINE: 'auto',
      MODELS_URL: source.url,
      PORT: `${port}`,
      // The packages are linked, which the sandbox does not follow; the tests of the engine use it.
      SANDBOX: 'off',
      // Tones are no speech to the other detector.
      SPEECH_DETECTOR: 'energy',
    };
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, ...environment.variables, ...settings };
    const child = spawn(process.execPath, ['scripts/start.mjs', ...args], { cwd: folder, env, stdio: 'pipe' });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    const stop = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGINT');
      await once(child, 'close');
    };
    environment.defer(stop);
    return { child, stop, said: () => said, url: `http://127.0.0.1:${port}` };
  }

  /** Resolves when it says that it is ready. */
  async function start(...args: string[]) {
    const launched = await launch(...args);
    await eventually(() => {
      if (launched.child.exitCode !== null) throw new Error(`npm start ended: ${launched.said()}`);
      return launched.said().includes('Ready in');
    }, START_MS);
    return launched;
  }

  /** Uploads tones with the demo account and waits for what they mean. */
  async function transcribe(url: string, pieces: string[]) {
    const { apiKey, apiSecret } = JSON.parse(await readFile(join(folder, '.data', 'demo.json'), 'utf8'));
    const headers = { 'X-Service-API-Key': apiKey, 'X-Service-API-Secret': apiSecret };
    const body = new FormData();
    body.set('file', new Blob([wav({ data: tonesPcm(pieces) })]), 'tones.wav');
    const uploaded = await fetch(`${url}/v1/recordings`, { method: 'POST', headers, body });
    const { id } = (await uploaded.json()) as { id: string };
    return await eventually(async () => {
      const answer = await fetch(`${url}/v1/recordings/${id}/transcription`, { headers });
      return answer.status === 200 ? ((await answer.json()) as Record<string, unknown>) : null;
    });
  }

  it('says that there is no such model, and starts nothing', async () => {
    const { child, said } = await launch('--model', 'tonez');
    await once(child, 'close');
    expect(child.exitCode).toBe(1);
    expect(said()).toContain('The catalogue has no model "tonez"');
    expect(said()).not.toContain('Schema');
  });

  it(
    'downloads, checks and selects the model, transcribes with it, and later starts use it again',
    async () => {
      const first = await start('--model', 'tones');
      expect(first.said()).toMatch(/^ {2}Model +[\d.]+ s {3}tones, \d kB downloaded and checked$/m);
      expect(first.said()).toMatch(/^ {2}Sample +[\d.]+ s {3}.* transcribed/m);
      expect(await transcribe(first.url, ['▁go', '▁forward', '▁ten', '▁met', 'ers'])).toMatchObject({
        text: 'go forward ten meters',
        provider: 'sherpa',
        model: 'tones',
      });
      await first.stop();

      const requests = source.requests.length;
      const again = await start();
      expect(again.said()).not.toContain('Model');
      expect(await transcribe(again.url, ['▁stop'])).toMatchObject({ text: 'stop', provider: 'sherpa' });
      await again.stop();
      expect(source.requests).toHaveLength(requests);
    },
    2 * START_MS,
  );
});
