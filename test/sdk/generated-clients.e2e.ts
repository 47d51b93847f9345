import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { ROOT } from '../support/paths.js';
import { sentenceEngine } from '../support/service/test-engines.js';

const PROGRAMS = join(ROOT, 'test', 'sdk', 'generated');
const AUDIO = join(SPEECH, 'go-forward-ten-meters.wav');
const KINDS = [
  'recording.transcribed',
  'recording.failed',
  'transcription.corrected',
  'recording.accepted',
  'recording.deleted',
  'webhook.test',
];

const execute = promisify(execFile);

/** The programs are what a stranger would write: they know of the service only what openapi.json says. */
describe('generated clients with the service', () => {
  const service = useService({ TRANSCRIPTION_ENGINE: 'sentence' }, { extensions: [sentenceEngine()] });
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'voice-notes-clients-'));
    await execute(process.execPath, [join(ROOT, 'scripts', 'clients.mjs'), 'python', 'typescript', '--out', folder]);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function run(command: string, program: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
    const { credentials } = await service.account();
    const { stdout } = await execute(command, [program, service.url, AUDIO], {
      env: { ...process.env, ...env, API_KEY: credentials.key, API_SECRET: credentials.secret },
    });
    expect(JSON.parse(stdout)).toEqual({
      id: expect.any(String),
      status: 'transcribed',
      text: expect.stringContaining('ten meters'),
      signed: true,
      forged: false,
      event: 'recording.transcribed',
      seconds: expect.any(Number),
      kinds: ['recording.accepted processing', 'recording.transcribed transcribed'],
      refusal: 404,
      types: expect.arrayContaining(KINDS),
    });
  }

  it('in Python: upload, wait, verify a webhook, read typed events', async () => {
    await run('python3', join(PROGRAMS, 'program.py'), { PYTHONPATH: join(folder, 'python') });
  });

  it('in TypeScript: the same', async () => {
    await copyFile(join(PROGRAMS, 'program.ts'), join(folder, 'program.ts'));
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules', '@types')],
      strict: true,
      outDir: 'built',
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const compiler = join(ROOT, 'node_modules', 'typescript-native', 'bin', 'tsc');
    await execute(process.execPath, [compiler, '-p', folder]).catch((error: { stdout: string }) => {
      throw new Error(error.stdout);
    });
    await run(process.execPath, join(folder, 'built', 'program.js'));
  });
});
