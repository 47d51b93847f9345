import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import request from 'supertest';
import { readEnv } from '../../../src/platform/config/env.js';
import { StorageUnavailableError } from '../../../src/platform/storage/file-system.js';
import { TransitKeyWrapper } from '../../../src/platform/storage/encryption/transit-key-wrapper.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech } from '../../../src/testing/speech.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { fetchBinary } from '../../support/http/clients/audio-client.js';
import { expectError } from '../../support/http/expect-errors.js';
import { ROOT } from '../../support/paths.js';
import { CertificateAuthority } from '../../support/servers/certificates.js';
import { ConnectProxy } from '../../support/servers/connect-proxy.js';
import { type TransitFault, TransitServer } from '../../support/servers/transit-server.js';
import { commandRunner, runCli } from '../../support/service/cli.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { emptyInstallation, newFolder } from '../../support/state/empty-installation.js';

const NOTE = silenceWav(0.5);
const TOKEN = 'hvs.the-token-of-the-service';
const KEY = 'a key for audio of at least 32 characters';

const imported = (file: string): string => JSON.stringify(new URL(`file://${ROOT}/dist/${file}`).href);
/** In a process of its own: Node reads its authorities when it starts. */
const WRAP = `
  import { TransitKeyWrapper } from ${imported('platform/storage/encryption/transit-key-wrapper.js')};
  import { readEnv } from ${imported('platform/config/env.js')};
  const wrapper = new TransitKeyWrapper(process.env.STORAGE_KMS_URL, readEnv(process.env));
  const key = Buffer.alloc(32, 5);
  const wrapped = await wrapper.wrap(key, 'row').catch((error) => error);
  const said = wrapped instanceof Error ? wrapped.message : (await wrapper.unwrap(wrapped, 'row')).equals(key) && 'opened';
  console.log(said);
  process.exit();`;

describe('keys of audio that a KMS wraps (Transit of Vault or OpenBao)', () => {
  const run = commandRunner();
  const environment = useEnvironment();
  let kms: TransitServer;
  let tokenFile: string;
  let client: ApiClient;

  beforeAll(async () => {
    kms = await TransitServer.start();
    environment.defer(() => kms.close());
    kms.createKey('voice-notes');
    kms.tokens.add(TOKEN);
    const folder = await mkdtemp(join(tmpdir(), 'kms-'));
    environment.defer(() => rm(folder, { recursive: true }));
    tokenFile = join(folder, 'token');
    await writeFile(tokenFile, `${TOKEN}\n`);
  });
  const byKms = (): Record<string, string> => ({
    STORAGE_ENCRYPTION: 'kms',
    STORAGE_KMS_URL: kms.keyUrl('voice-notes'),
    STORAGE_KMS_TOKEN_FILE: tokenFile,
  });
  const service = useService(() => ({ ...byKms(), ROLES: 'api' }), { environment });
  beforeEach(async () => {
    kms.fault = null;
    kms.requests.length = 0;
    client = await service.account();
  });

  const serve = (variables: Record<string, string>): Promise<TestService> => startService(environment, variables);
  const upload = (by = client) => by.upload(NOTE, {}, 'note.wav');
  const uploaded = async (by = client): Promise<string> => (await upload(by).expect(201)).body.id;
  const download = (id: string, by = client) => fetchBinary(by, `/v1/recordings/${id}/audio`);
  const wrappedOf = async ({ accountId } = client): Promise<string> => {
    const rows = await service.database.query<{ wrapped_key: string }>(
      'SELECT wrapped_key FROM storage_keys WHERE account_id = $1',
      [accountId],
    );
    expect(rows).toHaveLength(1);
    return rows[0]?.wrapped_key ?? '';
  };

  async function expectAudio(id: string, by = client): Promise<void> {
    const { status, bytes } = await download(id, by);
    expect([status, bytes.equals(NOTE)]).toEqual([200, true]);
  }

  async function rotate(variables: Record<string, string>): Promise<Record<string, unknown>> {
    const all = { ...environment.variables, ...variables };
    const { code, stdout, stderr } = await run({ variables: all }, 'secrets:rotate', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  async function expectUnavailable(answer: Promise<request.Response> | request.Test): Promise<void> {
    const { headers, status, body } = await answer;
    expectError({ headers, status, body }, 'ServiceUnavailableError');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  }

  it('wraps the key of an account once, and asks no more for it', async () => {
    const ids = [await uploaded(), await uploaded(), await uploaded()];
    for (const id of ids) await expectAudio(id);
    expect(await wrappedOf()).toMatch(/^kms:transit\/voice-notes:vault:v1:[\w+/=]+$/);
    // Wrapped, proved, and unwrapped for the first upload. Looks of readiness encrypt, too.
    expect(kms.requests.filter(({ path }) => path.includes('/decrypt/'))).toHaveLength(2);
    expect(new Set(kms.requests.map(({ token }) => token))).toEqual(new Set([TOKEN]));
  });

  it('in an outage goes on with the keys that it has in memory, and is 503 without harm for others', async () => {
    const id = await uploaded();
    const fresh = await service.account();
    for (const fault of ['sealed', 'cut', 'nonsense', 'other ciphertext', 'silent'] satisfies TransitFault[]) {
      kms.fault = fault;
      await expectAudio(id);
      await expectAudio(await uploaded());
      const started = performance.now();
      await expectUnavailable(upload(fresh));
      expect(performance.now() - started).toBeLessThan(10_000);
      // Those that come at once after it do not wait.
      await expectUnavailable(upload(fresh));
    }
    expect(await service.database.query('SELECT 1 FROM storage_keys WHERE account_id = $1', [fresh.accountId])).toEqual(
      [],
    );
    kms.fault = null;
    await eventually(async () => (await upload(fresh)).status === 201);
    const other = await serve({ ...byKms(), ROLES: 'api' });
    kms.fault = 'sealed';
    const { headers, status, body } = await download(id, client.at(other.url));
    expectError({ headers, status, body }, 'ServiceUnavailableError');
    kms.fault = null;
    await eventually(async () => (await download(id, client.at(other.url))).status === 200);
    await other.close();
  });

  it('says so in readiness, and stays ready', async () => {
    const token = 'a token for readiness of 32 characters';
    const watched = await serve({ ...byKms(), ROLES: 'api', METRICS_TOKEN: token });
    const ready = async () => await request(watched.url).get('/health/ready').set('Authorization', `Bearer ${token}`);
    kms.fault = 'silent';
    const { body, status } = await eventually(async () => {
      const answer = await ready();
      return answer.body.checks?.keys ? answer : null;
    }, 20_000);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'degraded', checks: { keys: expect.stringMatching(/gives no answer/) } });
    kms.fault = null;
    await eventually(async () => (await ready()).body.status === 'ok', 20_000);
    await watched.close();
  });

  it('recordings wait for it, and lose no attempt', async () => {
    const { body } = await client.upload(await speech('go-forward-ten-meters.ogg'), {}, 'note.ogg').expect(201);
    kms.fault = 'cut';
    const worker = await serve({ ...byKms(), ROLES: 'transcriber', SECRET_KEY: '' });
    await eventually(async () => kms.requests.some(({ path }) => path.includes('/decrypt/')));
    const waiting = async () =>
      await service.database.query(
        'SELECT 1 FROM recordings WHERE id = $1 AND lease_until > now() AND lease_token IS NULL',
        [body.id],
      );
    await eventually(async () => (await waiting()).length > 0);
    const [row] = await service.database.query('SELECT attempt, faults, status FROM recordings WHERE id = $1', [
      body.id,
    ]);
    expect(row).toEqual({ attempt: 0, faults: 0, status: 'processing' });
    kms.fault = null;
    expect((await client.finished(body.id)).status).toBe('transcribed');
    await worker.close();
  });

  it('takes another token from the file when its own is refused', async () => {
    const id = await uploaded();
    const later = await serve({ ...byKms(), ROLES: 'api' });
    kms.tokens.clear();
    expect((await download(id, client.at(later.url))).status).toBe(503);
    kms.tokens.add('hvs.another');
    await writeFile(tokenFile, 'hvs.another\n');
    await expectAudio(id, client.at(later.url));
    kms.tokens.add(TOKEN);
    await writeFile(tokenFile, TOKEN);
    await later.close();
  });

  it('secrets:rotate rewraps in the KMS after its key was rotated, and the earlier version can go', async () => {
    const id = await uploaded();
    const before = await wrappedOf();
    kms.rotate('voice-notes');
    kms.requests.length = 0;
    const report = await rotate(byKms());
    const { rewrapped } = report.audio_keys as { rewrapped: number };
    expect(rewrapped).toBeGreaterThan(3);
    expect(report.audio_keys).toEqual({ rewrapped, left: 0, unreadable: 0 });
    expect(kms.requests.filter(({ path }) => path.includes('/rewrap/'))).toHaveLength(rewrapped);
    expect(await wrappedOf()).toMatch(/^kms:transit\/voice-notes:vault:v2:/);
    expect(await wrappedOf()).not.toBe(before);
    kms.requireVersion('voice-notes', 2);
    const later = await serve({ ...byKms(), ROLES: 'api' });
    await expectAudio(id, client.at(later.url));
    await later.close();
    expect((await rotate(byKms())).audio_keys).toEqual({ rewrapped: 0, left: 0, unreadable: 0 });
  });

  it('is left and taken up while running, by STORAGE_ENCRYPTION and secrets:rotate', async () => {
    const id = await uploaded();
    const local = { ...byKms(), STORAGE_ENCRYPTION: 'key', STORAGE_KEY: KEY };
    const moved = await serve({ ...local, ROLES: 'api' });
    await expectAudio(id, client.at(moved.url));
    const added = await moved.account();
    await uploaded(added);
    expect(await wrappedOf(added)).toMatch(/^[\da-f]{8}\./);
    expect((await rotate(local)).audio_keys).toMatchObject({ left: 0, unreadable: 0 });
    expect(await wrappedOf()).toMatch(/^[\da-f]{8}\./);
    const alone = await serve({ STORAGE_ENCRYPTION: 'key', STORAGE_KEY: KEY, ROLES: 'api' });
    kms.fault = 'cut';
    await expectAudio(id, client.at(alone.url));
    kms.fault = null;
    expect((await rotate({ ...byKms(), STORAGE_KEY: KEY })).audio_keys).toMatchObject({ left: 0, unreadable: 0 });
    expect(await wrappedOf()).toMatch(/^kms:/);
    const back = await serve({ ...byKms(), ROLES: 'api' });
    await expectAudio(id, client.at(back.url));
    for (const one of [moved, alone, back]) await one.close();
  });

  it('a rotation that loses the KMS half-way changes nothing that it cannot read, and is repeated', async () => {
    const id = await uploaded();
    const local = { ...byKms(), STORAGE_ENCRYPTION: 'key', STORAGE_KEY: KEY };
    kms.fault = 'sealed';
    const all = { ...environment.variables, ...local };
    const { code, stdout, stderr } = await run({ variables: all }, 'secrets:rotate', '--json');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/the KMS at http:\/\/127\.0\.0\.1:\d+ answered 503: it may be sealed/);
    expect(stderr).not.toContain(TOKEN);
    kms.fault = null;
    expect(await wrappedOf()).toMatch(/^kms:/);
    await expectAudio(id);
  });

  it('a key that was put into the row of another account is not used', async () => {
    const [mine, other] = [client, await service.account()];
    const id = await uploaded(mine);
    await uploaded(other);
    await service.database.query(
      'UPDATE storage_keys SET wrapped_key = (SELECT wrapped_key FROM storage_keys WHERE account_id = $2) WHERE account_id = $1',
      [mine.accountId, other.accountId],
    );
    const later = await serve({ ...byKms(), ROLES: 'api' });
    expect((await download(id, mine.at(later.url))).status).toBe(503);
    await later.close();
  });

  it('rewraps a thousand keys', async () => {
    await service.database.query(
      `INSERT INTO storage_keys (account_id, version, wrapped_key)
       SELECT account_id, 1000 + n, 'unreadable' FROM storage_keys, generate_series(1, 1000) n WHERE account_id = $1`,
      [client.accountId],
    );
    await uploaded();
    const wrapper = new TransitKeyWrapper(kms.keyUrl('voice-notes'), readEnv({ ...environment.variables, ...byKms() }));
    const started = performance.now();
    for (let n = 1; n <= 1000; n++) {
      const text = await wrapper.wrap(Buffer.alloc(32, n), `context ${n}`);
      expect(await wrapper.unwrap(await wrapper.rewrap(text, `context ${n}`), `context ${n}`)).toEqual(
        Buffer.alloc(32, n),
      );
    }
    reportMeasurement(`1000 keys wrapped, rewrapped and unwrapped: ${(performance.now() - started).toFixed(0)} ms`);
    await wrapper.close();
  });

  describe('the wrapper', () => {
    const wrapperOf = (url: string, others: Record<string, string> = {}) =>
      new TransitKeyWrapper(url, readEnv({ ...environment.variables, ...byKms(), ...others }));

    it.each([false, true])('binds a key to its row, with a key of the KMS that is derived: %s', async (derived) => {
      kms.createKey('bound', { derived });
      const wrapper = wrapperOf(kms.keyUrl('bound'));
      const key = Buffer.alloc(32, 7);
      const text = await wrapper.wrap(key, 'row 1');
      expect(await wrapper.unwrap(text, 'row 1')).toEqual(key);
      await expect(wrapper.unwrap(text, 'row 2')).rejects.not.toThrow(StorageUnavailableError);
      kms.rotate('bound');
      const anew = await wrapper.rewrap(text, 'row 1');
      expect([text.includes(':v1:'), anew.includes(':v2:')]).toEqual([true, true]);
      expect(await wrapper.unwrap(anew, 'row 1')).toEqual(key);
      await expect(wrapper.rewrap(text, 'row 2')).rejects.toThrow();
      expect(await wrapper.currentPrefix()).toBe('kms:transit/bound:vault:v2:');
      await wrapper.close();
    });

    it.each<[string, TransitFault | null, Record<string, string>, RegExp]>([
      ['nonsense', 'nonsense', {}, /what is not of its protocol/],
      ['another ciphertext', 'other ciphertext', {}, /does not give back what it wrapped/],
      ['a seal', 'sealed', {}, /answered 503: it may be sealed/],
      ['silence', 'silent', {}, /gives no answer within 4000 ms/],
      ['a cut connection', 'cut', {}, /the connection was closed before an answer/],
      [
        'a wrong token',
        null,
        { STORAGE_KMS_TOKEN_FILE: '', STORAGE_KMS_TOKEN: 'hvs.wrong' },
        /refuses STORAGE_KMS_TOKEN/,
      ],
    ])('fails for %s with a sentence without secrets', async (_, fault, others, sentence) => {
      kms.fault = fault;
      const wrapper = wrapperOf(kms.keyUrl('voice-notes'), others);
      const key = Buffer.alloc(32, 9);
      const error = await wrapper.wrap(key, 'row').catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StorageUnavailableError);
      expect((error as Error).message).toMatch(sentence);
      const said = JSON.stringify([(error as Error).message, (error as Error).stack, (error as Error).cause]);
      for (const secret of [TOKEN, 'hvs.wrong', key.toString('base64').slice(0, 20)])
        expect(said).not.toContain(secret);
      await wrapper.close();
    });

    it('takes the way out that the others take', async () => {
      const proxy = await ConnectProxy.start('service:secret');
      const wrapper = wrapperOf(kms.keyUrl('voice-notes'), {
        EGRESS_PROXY_URL: `http://service:secret@${proxy.address}`,
      });
      await wrapper.wrap(Buffer.alloc(32), 'row');
      expect(new Set(proxy.hosts)).toEqual(new Set([`127.0.0.1:${kms.port}`]));
      await Promise.all([wrapper.close(), proxy.close()]);
    });
  });

  it('shows its certificate to a KMS that asks for one, and trusts the authorities of NODE_EXTRA_CA_CERTS', async () => {
    const authority = new CertificateAuthority();
    const tls = { ...authority.issue('vault', ['DNS:localhost']), ca: authority.cert };
    const strict = await TransitServer.start({ tls });
    strict.createKey('voice-notes');
    strict.tokens.add(TOKEN);
    const { cert, key } = authority.issue('voice-notes-keys');
    const wrap = async (shown: Record<string, string>): Promise<string> => {
      const env = {
        ...{ PATH: process.env.PATH, ...environment.variables, ...byKms(), ...shown },
        STORAGE_KMS_URL: strict.keyUrl('voice-notes', 'localhost', 'https'),
        NODE_EXTRA_CA_CERTS: authority.certFile,
      };
      const args = ['--no-warnings', '--input-type=module', '--eval', WRAP];
      return (await promisify(execFile)(process.execPath, args, { cwd: ROOT, env })).stdout.trim();
    };
    expect(await wrap({ STORAGE_KMS_CLIENT_CERT: cert, STORAGE_KMS_CLIENT_KEY: key })).toBe('opened');
    expect(new Set(strict.requests.map(({ name }) => name))).toEqual(new Set(['voice-notes-keys']));
    expect(await wrap({})).toMatch(/^the KMS at https:\/\/localhost:\d+ cannot be asked/);
    await strict.close();
    authority.remove();
  });

  it('a backup is restored with the KMS, and restore says what cannot be read without it', async () => {
    const id = await uploaded();
    const place = await newFolder(environment, 'kms-backup');
    const command = async (variables: Record<string, string>, ...args: string[]) => {
      const all = { ...environment.variables, ...variables };
      const { code, stdout, stderr } = await runCli({ variables: all }, ...args, '--place', place, '--json');
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as { unreadable_audio_keys: number; advice: string };
    };
    await command(byKms(), 'backup');
    const installation = { ...byKms(), ...(await emptyInstallation(environment)) };
    const known = await command(installation, 'restore');
    const without = await command(await emptyInstallation(environment), 'restore');
    expect(without.unreadable_audio_keys).toBeGreaterThan(known.unreadable_audio_keys);
    expect(without.advice).toMatch(/STORAGE_KMS_URL of the time of the backup: nothing here can unwrap \d+ keys/);
    const again = await serve({ ...installation, ROLES: 'api' });
    await expectAudio(id, client.at(again.url));
    await again.close();
  });

  it.each<[string, Record<string, string>]>([
    ['STORAGE_KMS_URL is required', { STORAGE_KMS_URL: '' }],
    ['must be https:// unless', { STORAGE_KMS_URL: 'http://vault.internal:8200/v1/transit/keys/voice-notes' }],
    ['must end with the path of a key', { STORAGE_KMS_URL: 'https://vault.internal:8200/' }],
    ['STORAGE_KMS_TOKEN needs STORAGE_KMS_URL', { STORAGE_ENCRYPTION: 'off', STORAGE_KMS_URL: '' }],
  ])('refuses to start: %s', (problem, changed) => {
    expect(() => readEnv({ ...environment.variables, ...byKms(), ...changed })).toThrow(problem);
  });
});
