import { Client } from 'pg';
import { ServiceProcess } from '../support/service/service-process.js';
import { speech } from '../../src/testing/speech.js';
import { runCli } from '../support/service/cli.js';
import { eventually } from '../../src/testing/eventually.js';
import { filePart, form, FORM_TYPE } from '../support/http/multipart.js';
import { CapturingClient } from '../support/http/clients/capturing-client.js';
import {
  hostedServices,
  localServices,
  type ExternalServices,
  uniqueMarker,
} from '../support/servers/external-services.js';
import { head } from '../support/http/clients/raw-http.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';

jest.setTimeout(240_000);

describe.each<[string, (openaiKey: string) => Promise<ExternalServices>]>([
  ['on a disk, with PocketSphinx', localServices],
  ['on S3, with a transcription server', hostedServices],
])('nothing secret gets out of a service: %s', (_, startExternal) => {
  /** What must not get out, by what it is. */
  const secrets: Record<string, string> = {
    SECRET_KEY: uniqueMarker('the-secret-key-of-this-service'),
    METRICS_TOKEN: uniqueMarker('metrics'),
    S3_ACCESS_KEY_ID: uniqueMarker('s3-id'),
    S3_SECRET_ACCESS_KEY: uniqueMarker('s3-secret'),
    OPENAI_API_KEY: uniqueMarker('sk'),
    'an email': `${uniqueMarker('somebody')}@private.example`,
    'another email': `${uniqueMarker('else')}@private.example`,
    'an identity': uniqueMarker('user'),
    'a file name': uniqueMarker('diary-of'),
    'the value of a tag': uniqueMarker('diagnosis'),
    'a secret of a webhook': uniqueMarker('a-webhook-secret-of-my-own'),
    'a token in the URL of a webhook': uniqueMarker('hook-token'),
    'a wrong secret': `vns_${uniqueMarker('wrong')}`,
    'a wrong token': uniqueMarker('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ'),
  };
  const secret = (name: string): string => secrets[name] as string;
  const tags = JSON.stringify({ order: secret('the value of a tag') });
  const wav = { name: `${secret('a file name')}.wav`, type: 'audio/wav' };

  const environment = useEnvironment();
  let external: ExternalServices;
  let built: ServiceProcess;
  let client: CapturingClient;
  let database: Client;
  let receiver: WebhookReceiver;
  let credentials: Record<string, string>;
  let note: Buffer;
  /** Also what the command line says when it fails. */
  let complaints = '';
  let metrics = '';

  beforeAll(async () => {
    external = await startExternal(secret('OPENAI_API_KEY'));
    environment.defer(() => external.close());
    note = await speech('go-forward-ten-meters.wav');
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    for (const name of ['DATABASE_URL', 'REDIS_URL']) {
      secrets[`the password in ${name}`] = new URL(environment.variables[name] as string).password;
    }
    database = new Client({ connectionString: environment.variables.DATABASE_URL });
    await database.connect();
    environment.defer(() => database.end());
    const given = Object.entries(secrets).filter(([name]) => /^[A-Z_0-9]+$/.test(name));
    Object.assign(environment.variables, Object.fromEntries(given));
    built = await ServiceProcess.start(environment, 'api,worker', {
      LOG_LEVEL: 'trace',
      WEBHOOK_RETRY_SCHEDULE: '1',
      ...external.environment,
    });
    client = new CapturingClient(built.url);
  });

  const call = (path: string, method = 'GET', body?: object | string, headers = credentials) =>
    client.call(path, { method, body, headers });

  function upload(audio: Buffer, fields: Record<string, string> = {}, headers = credentials) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    body.append('file', new Blob([new Uint8Array(audio)], { type: wav.type }), wav.name);
    return client.call('/v1/recordings', { method: 'POST', body, headers });
  }

  const ended = (id: string) =>
    eventually(async () => {
      const { body } = await call(`/v1/recordings/${id}`);
      // Not an error of a server that has just failed.
      return ['transcribed', 'failed'].includes(body.status) && (body as { status: string });
    }, 60_000);

  /** While the table takes no row, Postgres says of each what stands in it. */
  async function refusing<T>(table: string, work: () => Promise<T>): Promise<T> {
    await database.query(`ALTER TABLE ${table} ADD CONSTRAINT no_more CHECK (false) NOT VALID`);
    try {
      return await work();
    } finally {
      await database.query(`ALTER TABLE ${table} DROP CONSTRAINT no_more`);
    }
  }

  it('when accounts and keys are made', async () => {
    const run = async (...args: string[]) => {
      const said = await runCli(environment, ...args);
      complaints += said.stderr;
      return said;
    };
    const email = secret('an email');
    const options = ['--name', 'Walker', '--email', email, '--plan', 'enterprise', '--json'];
    const { account, api_key: key, api_secret } = JSON.parse((await run('account:create', ...options)).stdout);
    secrets['a secret of the command line'] = api_secret;
    credentials = { 'X-Service-API-Key': key, 'X-Service-API-Secret': api_secret };
    await run('account:update', '--account', account.id, '--email', secret('another email'));
    expect((await run('account:create', '--name', 'X', '--email', `${email} and more`)).code).toBe(1);
    const made = JSON.parse((await run('key:create', '--account', account.id, '--json')).stdout);
    secrets['another secret of the command line'] = made.api_secret;
    await refusing('api_keys', () => run('key:create', '--account', account.id));

    const { body } = await call('/v1/account/api-keys', 'POST', { name: 'A key' });
    secrets['a secret of the API'] = body.api_secret;
    expect((await call('/v1/account/api-keys', 'POST', { name: ['x', api_secret] })).status).toBe(400);
    expect((await refusing('api_keys', () => call('/v1/account/api-keys', 'POST', { name: 'X' }))).status).toBe(500);
    const identity = secret('an identity');
    const token = await call('/v1/account/access-tokens', 'POST', { identity });
    secrets['an access token'] = token.body.token;
    expect((await call('/v1/account/access-tokens', 'POST', { identity, expires_in: identity })).status).toBe(400);
    expect((await call('/v1/account')).body.email).toBe(secret('another email'));
  });

  it('when webhooks are made', async () => {
    const url = receiver.url(`/hook?token=${secret('a token in the URL of a webhook')}`);
    const events = ['recording.transcribed', 'recording.failed'];
    const own = { url, events, secret: secret('a secret of a webhook') };
    expect((await call('/v1/webhooks', 'POST', own)).status).toBe(201);
    const made = await call('/v1/webhooks', 'POST', { url, events });
    secrets['a generated webhook secret'] = made.body.secret;
    expect((await call('/v1/webhooks', 'POST', { ...own, url: `ftp://${url}` })).status).toBe(400);
    expect((await call('/v1/webhooks', 'POST', { ...own, secret: `${own.secret}\u0000` })).status).toBe(400);
    expect((await refusing('webhooks', () => call('/v1/webhooks', 'POST', own))).status).toBe(500);
    const nowhere = { url: 'http://nobody.invalid./x', events };
    expect((await call('/v1/webhooks', 'POST', nowhere)).status).toBe(400);
    const dead = `http://127.0.0.1:1/${secret('a token in the URL of a webhook')}`;
    expect((await call('/v1/webhooks', 'POST', { url: dead, events })).status).toBe(201);
  });

  it('when recordings are uploaded, transcribed and announced', async () => {
    receiver.answerNext({ status: 500 }, { drop: true });
    const bearer = { ...credentials, Authorization: `Bearer ${secret('an access token')}` };
    const good = await upload(note, { custom_tags: tags }, bearer);
    expect(good).toMatchObject({ status: 201, body: { original_filename: wav.name } });
    expect(await ended(good.body.id)).toMatchObject({ status: 'transcribed', user_id: secret('an identity') });
    // Not by `call`: this URL is meant to have the signature, and the header of the audio its file name.
    const making = { method: 'POST', headers: credentials };
    const made = await fetch(`${built.url}/v1/recordings/${good.body.id}/audio-url`, making);
    const { url } = (await made.json()) as { url: string };
    secrets['the signature of a URL of audio'] = url.split('.')[2] as string;
    expect((await fetch(built.url + url)).status).toBe(200);
    for (const path of [`${url}x`, `${url}&a=b`, url.replace('?token=', '/')]) await call(path, 'GET', undefined, {});
    const { body } = await call(`/v1/recordings/${good.body.id}/transcription`);
    secrets['a transcript'] = body.text;
    expect(body.text).toBe(external.text ?? 'go forward ten meters');
    const bad = await upload(Buffer.concat([note.subarray(0, 44), Buffer.from('x')]), { custom_tags: tags });
    if (bad.status === 201) await ended(bad.body.id);
    await receiver.waitFor((requests) => requests.length >= 4);
    await call('/v1/recordings?per_page=5');
    await call(`/v1/recordings/${good.body.id}`, 'DELETE');
  });

  it('when uploads are refused', async () => {
    const broken = [{ custom_tags: `{"order":"${secret('the value of a tag')}"` }, { custom_tags: `${tags}x` }];
    for (const fields of [...broken, { language: secret('the value of a tag') }]) {
      await upload(note, fields);
    }
    const nested = JSON.stringify({ order: { is: secret('the value of a tag') } });
    expect((await upload(note, { custom_tags: nested })).status).toBe(400);
    expect((await upload(Buffer.from(`no audio, but ${secret('the value of a tag')}`))).status).toBe(400);
    const sent = async (body: Buffer): Promise<number> => {
      const lines = { ...credentials, 'Content-Type': FORM_TYPE, 'Content-Length': String(body.length) };
      return (await client.raw(head('POST', '/v1/recordings', Object.entries(lines)), body)).status;
    };
    // The answer comes before all of it is sent, and fetch would not read it if the rest takes longer than a second.
    expect(await sent(form(filePart(Buffer.alloc(26_300_000, 'RIFF'), wav.name)))).toBe(413);
    expect(await sent(form(filePart(note, wav.name)).subarray(0, 3000))).toBe(400);
  });

  it('when the credentials are wrong, or in the wrong place', async () => {
    const key = credentials['X-Service-API-Key'] as string;
    const wrong = secret('a wrong secret');
    const attempts: Record<string, string>[] = [
      { 'X-Service-API-Key': key, 'X-Service-API-Secret': wrong },
      { 'X-Service-API-Key': wrong, 'X-Service-API-Secret': secret('a secret of the API') },
      { Authorization: `Bearer ${secret('a wrong token')}` },
      { Authorization: `Bearer ${secret('an access token')}x` },
      { Authorization: `Bearer ${key}.${wrong}` },
      { Authorization: `Bearer ${key}:${secret('a secret of the API')}` },
      { Authorization: `Basic ${Buffer.from(`${key}:${wrong}`).toString('base64')}` },
      { Cookie: `session=${wrong}` },
    ];
    for (const headers of attempts) {
      expect((await call('/v1/account', 'GET', undefined, headers)).status).toBe(401);
    }
    const own = secret('a secret of the API');
    const bearer = { Authorization: `Bearer ${key}.${credentials['X-Service-API-Secret']}` };
    expect((await call('/v1/account', 'GET', undefined, bearer)).status).toBe(200);
    await call(`/v1/account?api_secret=${own}&email=${encodeURIComponent(secret('an email'))}`);
    await call(`/v1/recordings?status=${secret('an identity')}&limit=${own}`);
    for (const path of [
      `/v1/webhooks/${own}`,
      `/v1/webhooks/${key}.${own}`,
      `/v1/${secret('an access token')}`,
      `/v1/x/${own}/%zz`,
    ])
      await call(path);
    await call(`/v1/webhooks/${secret('a generated webhook secret')}`);
    await call('/metrics', 'GET', undefined, { Authorization: `Bearer ${wrong}` });
  });

  it('when requests are malformed', async () => {
    const own = secret('a secret of a webhook');
    for (const body of [`{"secret":"${own}"`, `"${own}"`, JSON.stringify({ url: own, events: [own] })]) {
      expect((await call('/v1/webhooks', 'POST', body)).status).toBe(400);
    }
    const credentialLines = Object.entries(credentials);
    await client.raw(head('GET', `http://user:${own}@host/v1/account`, credentialLines));
    await client.raw(head('DELETE', '/v1/account', [...credentialLines, ['X-Request-Id', `${own} and more`]]));
    await client.unparsable(`GET /v1/account HTTP/1.1\r\nX-Service-API-Secret: ${own}\r\n${own}\r\n\r\n`);
  });

  it('when its servers fail', async () => {
    external.failNext();
    await upload(note, { custom_tags: tags });
    await upload(note, { custom_tags: tags });
    const refused = await refusing('recordings', () => upload(note, { custom_tags: tags }));
    expect(refused.status).toBe(500);
    const recordingId = await refusing('transcriptions', async () => {
      const { body } = await upload(note, { custom_tags: tags });
      await eventually(() => built.log().includes(body.id) && /violates check.*no_more/.test(built.log()));
      return body.id as string;
    });
    await database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await Promise.all(Array.from({ length: 5 }, () => call('/v1/account')));
    expect(await ended(recordingId)).toMatchObject({ status: 'transcribed' });
  });

  it('to its log, its errors, its URLs or its figures', async () => {
    const headers = { Authorization: `Bearer ${secret('METRICS_TOKEN')}` };
    metrics = (await call('/metrics', 'GET', undefined, headers)).body;
    await built.end('SIGTERM');
    const log = built.log();
    // What is looked through is what there is: every request, and the failures, too.
    expect(client.requestIds.length).toBeGreaterThan(50);
    expect(client.requestIds.filter((id) => id === '' || !log.includes(id))).toEqual([]);
    expect([...client.statuses]).toEqual(expect.arrayContaining([200, 201, 204, 400, 401, 404, 413, 500]));
    expect(log).toMatch(/violates check constraint/);
    expect(metrics).toMatch(/\/v1\/recordings/);
    expect(complaints).not.toBe('');
    expect(Object.values(secrets).every((value) => value.length >= 12)).toBe(true);

    const places = { log, shown: client.shown, metrics, complaints };
    const found = Object.entries(places).flatMap(([place, text]) =>
      Object.entries(secrets).flatMap(([name, value]) =>
        spellings(value).some((spelling) => text.includes(spelling))
          ? [`${name} in ${place}: ${around(text, value)}`]
          : [],
      ),
    );
    expect(found).toEqual([]);
  });
});

function spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  // The last characters of base64 depend on what follows.
  return [value, encodeURIComponent(value), bytes.toString('hex'), bytes.toString('base64').replace(/.{4}=*$/, '')];
}

function around(text: string, value: string): string {
  const at = text.indexOf(value);
  return text.slice(Math.max(0, at - 300), at + value.length);
}
