import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { signDelivery } from '../../../src/modules/webhooks/sending/signature.js';
import { ROOT } from '../../support/paths.js';

const run = promisify(execFile);
/** Where the console has them from; the page repeats them. */
const VERIFIERS = path.join(ROOT, 'console/src/pages/webhooks/verifiers');

interface Delivery {
  secret: string;
  headers: Record<string, string>;
  bodyFile: string;
}

/** How a language is told to judge a delivery: prints `true` or `false` for each of the page's two functions. */
interface Language {
  file: string;
  tool: string;
  driver: { file: string; text: string };
  /** Arguments of the tool, once before all deliveries. */
  build?: string[];
  /** The program, with its arguments. */
  command: (delivery: Delivery) => [string, ...string[]];
}

const asArguments = ({ secret, headers, bodyFile }: Delivery) => [secret, JSON.stringify(headers), bodyFile];

const LANGUAGES: Record<string, Language> = {
  js: {
    file: 'verify.mjs',
    tool: 'node',
    driver: {
      file: 'main.mjs',
      text: `import { readFileSync } from 'node:fs';
        import { verify, verifyStandard } from './verify.mjs';
        const [secret, text, file] = process.argv.slice(2);
        const headers = Object.fromEntries(Object.entries(JSON.parse(text)).map(([k, v]) => [k.toLowerCase(), v]));
        const body = readFileSync(file);
        console.log(verify(secret, headers, body), verifyStandard(secret, headers, body));`,
    },
    command: (delivery) => ['node', 'main.mjs', ...asArguments(delivery)],
  },
  python: {
    file: 'verify.py',
    tool: 'python3',
    driver: {
      file: 'main.py',
      text: [
        'import json, sys, verify',
        'secret, text, file = sys.argv[1:]',
        'headers, body = json.loads(text), open(file, "rb").read()',
        'results = verify.verify(secret, headers, body), verify.verify_standard(secret, headers, body)',
        'print(*[str(result).lower() for result in results])',
      ].join('\n'),
    },
    command: (delivery) => ['python3', 'main.py', ...asArguments(delivery)],
  },
  go: {
    file: 'verify.go',
    tool: 'go',
    driver: {
      file: 'verify_test.go',
      text: `package webhooks
        import ("encoding/json"; "fmt"; "net/http"; "os"; "testing")
        func TestMain(m *testing.M) {
          given := map[string]string{}
          json.Unmarshal([]byte(os.Getenv("HEADERS")), &given)
          header := http.Header{}
          for name, value := range given { header.Set(name, value) }
          body, _ := os.ReadFile(os.Getenv("BODY_FILE"))
          secret := os.Getenv("SECRET")
          fmt.Println(Verify(secret, header, body), VerifyStandard(secret, header, body))
        }`,
    },
    build: ['test', '-c', '-o', 'verify', 'verify.go', 'verify_test.go'],
    command: () => ['./verify'],
  },
  bash: {
    file: 'verify.sh',
    tool: 'bash',
    driver: {
      file: 'main.sh',
      text: `. ./verify.sh
        verify "$SECRET" "$1" "$BODY_FILE" && printf 'true ' || printf 'false '
        verify_standard "$SECRET" "$2" "$3" "$4" "$BODY_FILE" && echo true || echo false`,
    },
    command: ({ headers }) => [
      'bash',
      'main.sh',
      ...['X-Service-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
        (name) => headers[name] ?? '',
      ),
    ],
  },
};

function isInstalled(tool: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const BODY = Buffer.from('{"event":"recording.transcribed","recording":{"custom_tags":{"ort":"Köln"}}}');
const SECRETS = ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=', 'my own secret – with a dash'];
const now = () => Math.floor(Date.now() / 1000);

describe.each(Object.entries(LANGUAGES))('the verifier of docs/webhooks.md in %s', (name, language) => {
  const test = isInstalled(language.tool) ? it : it.skip;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verifier-'));
    await copyFile(path.join(VERIFIERS, language.file), path.join(folder, language.file));
    await writeFile(path.join(folder, language.driver.file), language.driver.text);
    if (language.build && isInstalled(language.tool)) await run(language.tool, language.build, { cwd: folder });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is the one that the console shows', async () => {
    const page = await readFile(path.join(ROOT, 'docs/webhooks.md'), 'utf8');
    const code = new RegExp(`^\`\`\`${name}\n([^]*?)^\`\`\``, 'm').exec(page)?.[1];
    expect(code).toBe(await readFile(path.join(VERIFIERS, language.file), 'utf8'));
  });

  async function judge(secret: string, headers: Record<string, string>, body: Buffer): Promise<string> {
    const bodyFile = path.join(folder, 'body.json');
    await writeFile(bodyFile, body);
    const [program, ...args] = language.command({ secret, headers, bodyFile });
    const { stdout } = await run(program, args, {
      cwd: folder,
      env: { ...process.env, SECRET: secret, HEADERS: JSON.stringify(headers), BODY_FILE: bodyFile },
    });
    return stdout.split('\n')[0] ?? '';
  }

  const signed = (secret: string, timestampSeconds = now(), previousSecret: string | null = null) =>
    signDelivery({ secret, previousSecret, eventId: 'evt_1', timestampSeconds, body: BODY });

  test.each(SECRETS)('accepts what is signed with %s', async (secret) => {
    expect(await judge(secret, signed(secret), BODY)).toBe('true true');
  });

  test.each(SECRETS)('refuses another body, another secret and no signature: %s', async (secret) => {
    expect(await judge(secret, signed(secret), Buffer.from(BODY.toString().replace('ort', 'Ort')))).toBe('false false');
    expect(await judge(secret, signed(`${secret.slice(0, -2)}E=`), BODY)).toBe('false false');
    expect(await judge(secret, { 'webhook-timestamp': String(now()) }, BODY)).toBe('false false');
  });

  test('accepts both secrets by the second signature while they overlap', async () => {
    const [next = '', previous = ''] = SECRETS;
    const headers = signed(next, now(), previous);
    expect(await judge(next, headers, BODY)).toBe('true true');
    expect(await judge(previous, headers, BODY)).toBe('false true');
  });

  test('refuses, by the second signature, an old delivery and another id', async () => {
    const [secret = ''] = SECRETS;
    expect(await judge(secret, signed(secret, now() - 400), BODY)).toBe('true false');
    expect(await judge(secret, { ...signed(secret), 'webhook-id': 'evt_2' }, BODY)).toBe('true false');
    expect(await judge(secret, { ...signed(secret), 'webhook-timestamp': String(now() + 5) }, BODY)).toBe('true false');
  });
});
