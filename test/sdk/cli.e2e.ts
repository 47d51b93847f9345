import { type ChildProcess, execFile } from 'node:child_process';
import { createHmac, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify, stripVTControlCharacters } from 'node:util';
import { EventStreamsService } from '../../src/modules/webhooks/events/event-streams.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { garbage } from '../support/audio/audio-bytes.js';
import { BuiltVnotes, resultOf, type VnotesUser } from '../support/cli/vnotes.js';
import { freePort } from '../support/servers/free-port.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { sentenceEngine } from '../support/service/test-engines.js';

const NAME = 'go-forward-ten-meters.wav';
const TEXT = 'go forward ten meters';
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[\d+m/;

const service = useService({ TRANSCRIPTION_ENGINE: 'sentence' }, { extensions: [sentenceEngine()] });
const vnotes = BuiltVnotes.use();

describe('vnotes', () => {
  let client: ApiClient;
  let user: VnotesUser;
  let id: string;
  let failed: string;

  beforeAll(async () => {
    client = await service.account();
    user = await vnotes.user(client);
    const { body } = await client.upload(NAME, { custom_tags: '{"order":"A-1"}' }).expect(201);
    ({ id } = body as { id: string });
    ({ id: failed } = (await client.upload(garbage('ogg', 1), {}, 'broken.ogg').expect(201)).body as {
      id: string;
    });
    await Promise.all([client.finished(id), client.finished(failed)]);
  });

  describe('login', () => {
    const anyone = () => vnotes.user();
    const fileOf = ({ home }: VnotesUser) => join(home, '.config/vnotes/profiles.json');

    it('reads the secret from standard input, checks it, and keeps the profile for the owner alone', async () => {
      const person = await anyone();
      const { key, secret } = client.credentials;
      const args = ['login', '--url', `${service.url}/v1/`, '--key', key];
      const refused = await person.runWith('vns_wrong\n', ...args);
      expect(refused).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('does not accept this key and secret'),
      });
      await expect(stat(fileOf(person))).rejects.toThrow('ENOENT');

      const accepted = await person.runWith(`${secret}\n`, ...args);
      expect(accepted).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`Signed in to ${service.url} as Account`),
      });
      expect(accepted.stdout + accepted.stderr).not.toContain(secret);
      expect((await stat(fileOf(person))).mode & 0o777).toBe(0o600);
      expect((await stat(join(person.home, '.config/vnotes'))).mode & 0o777).toBe(0o700);
      expect((await person.run('get', id, '--format', 'text')).stdout).toBe(`${TEXT}\n`);

      await chmod(fileOf(person), 0o644);
      expect((await person.run('list')).stderr).toMatch(/^Warning: Other users of this machine can read .*chmod 600/);
    });

    it('asks on a terminal, and does not show the secret', async () => {
      const person = await anyone();
      const { key, secret } = client.credentials;
      const { code, stdout } = await person.onTerminal('vnotes login', [
        [/URL \[.*\]: /, `${service.url}\n`],
        [/Key \(vnk_…\): /, `${key}\n`],
        [/Secret \(not shown\): /, `${secret}\n`],
      ]);
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Signed in to') });
      expect(stdout).not.toContain(secret);
      expect(await person.json('profiles')).toMatchObject({ profiles: [{ profile: 'default', current: true, key }] });
    });

    it('warns of a secret among the arguments', async () => {
      const { key, secret } = client.credentials;
      const { code, stderr } = await (
        await anyone()
      ).run('login', '--url', service.url, '--key', key, '--secret', secret);
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('shows the secret to all users'),
      });
    });

    it('keeps several profiles, and forgets them', async () => {
      const person = await anyone();
      const other = await service.account();
      for (const [profile, { credentials }] of [
        ['home', client],
        ['work', other],
      ] as const) {
        const args = ['login', '--url', service.url, '--key', credentials.key, '--profile', profile];
        expect(await person.runWith(credentials.secret, ...args)).toMatchObject({ code: 0 });
      }
      const total = async (...args: string[]) => (await person.json<{ total: number }>('list', ...args)).total;
      expect([await total(), await total('--profile', 'work')]).toEqual([2, 0]);
      await person.run('profiles', 'work');
      expect(await total()).toBe(0);
      // The environment wins.
      expect((await person.with(user.variables).json<{ total: number }>('list')).total).toBe(2);
      expect(await person.run('list', '--profile', 'none')).toMatchObject({ code: 3, stdout: '' });
      await person.run('logout');
      expect((await person.run('profiles')).stdout).toMatch(/\* home/);
      await person.run('logout', '--all');
      expect(await person.run('list')).toMatchObject({ code: 3, stderr: expect.stringContaining('vnotes login') });
    });

    it('sends the secret of a profile to no other service', async () => {
      const person = await anyone();
      const { key, secret } = client.credentials;
      await person.runWith(secret, 'login', '--url', service.url, '--key', key);
      const elsewhere = await person.with({ VNOTES_URL: 'http://127.0.0.1:1' }).run('list');
      expect(elsewhere).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Set VNOTES_KEY and VNOTES_SECRET too'),
      });
    });
  });

  it('lists in full where nobody sees it, with filters and pages', async () => {
    const { stdout, stderr } = await user.run('list');
    expect(stdout).not.toMatch(COLOUR);
    const [title, ...rows] = stdout.trimEnd().split('\n');
    expect(title).toMatch(/^ID +UPLOADED +LENGTH +STATUS +NAME +TAGS$/);
    expect(rows[1]).toMatch(
      new RegExp(`^${id}  \\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z  0:03 +transcribed  ${NAME} +order=A-1$`),
    );
    expect(stderr).toBe('');
    expect(await user.json('list', '--status', 'failed', '--from', 'today')).toMatchObject({
      recordings: [{ id: failed }],
    });
    expect(await user.json('list', '--tag', 'order=A-1')).toMatchObject({ total: 1 });
    const first = await user.run('list', '--limit', '1');
    expect(first).toMatchObject({ stderr: '1 of 2 results. The next: --page 1. All: --all.\n' });
    const all = await user.run('list', '--all', '--json');
    expect(
      all.stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual([failed, id]);
  });

  it('fits a terminal, in colours unless they are not wanted', async () => {
    const { stdout } = await user.onTerminal('vnotes list');
    const lines = stripVTControlCharacters(stdout).split('\r\n');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    expect(stdout).toMatch(COLOUR);
    const narrow = await user.onTerminal('stty cols 40; vnotes list');
    expect(narrow.stdout).toContain(id);
    for (const off of [
      'NO_COLOR=1 vnotes list',
      'vnotes list --no-color',
      'vnotes list | cat',
      'TERM=dumb vnotes list',
    ]) {
      expect((await user.onTerminal(`export NO_COLOR; ${off}`)).stdout).not.toMatch(COLOUR);
    }
  });

  it('gets a recording, its text in every form, and its audio', async () => {
    expect((await user.run('get', id)).stdout).toMatch(
      new RegExp(`^ID +${id}\\nName +${NAME}\\nStatus +transcribed[^]*${TEXT}\\n$`),
    );
    expect(await user.json('get', id)).toMatchObject({ id, transcription: { text: TEXT } });
    expect((await user.run('get', id, '--format', 'vtt')).stdout).toMatch(/^WEBVTT\n/);
    expect(JSON.parse((await user.run('get', id, '--format', 'json')).stdout)).toMatchObject({ text: TEXT });
    await user.run('get', id, '--audio', 'copy.wav', '--out', 'copy.txt');
    expect(await readFile(join(user.home, 'copy.wav'))).toEqual(await readFile(join(SPEECH, NAME)));
    expect(await readFile(join(user.home, 'copy.txt'), 'utf8')).toContain(TEXT);
    const problem = await user.run('get', failed, '--format', 'text');
    expect(problem).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('could not be transcribed: '),
    });
  });

  it('searches and marks what it finds', async () => {
    const { stdout } = await user.run('search', 'ten', 'METERS');
    expect(stdout).toBe(`${id}  ${stdout.split('  ')[1]}  ${NAME}\n    ${TEXT}\n`);
    const shown = await user.onTerminal('vnotes search meters');
    expect(shown.stdout).toContain('go forward ten \u001b[33m\u001b[1mmeters');
    expect(await user.run('search', 'nobody', 'said')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No recording matches "nobody said".\n',
    });
  });

  it('gives a title and tags, which lists show and a search finds', async () => {
    const { stdout } = await user.run('edit', id, '--title', 'North gate', '--tag', 'ticket=T-7');
    expect(stdout).toBe(`${id}  North gate\n`);
    expect((await user.run('list')).stdout).toMatch(/ North gate +ticket=T-7/);
    expect((await user.run('search', 'nor')).stdout).toContain('  North gate\n');
    expect(await user.json('edit', id, '--no-title', '--no-tags')).toMatchObject({ title: NAME, custom_tags: null });
    expect(await user.run('edit', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Say what to change'),
    });
  });

  it('keeps a recording from being deleted, and says how long new ones are kept', async () => {
    expect(await user.json('hold', id, '--reason', 'Complaint C-1')).toMatchObject({ reason: 'Complaint C-1' });
    const refused = await user.run('delete', id, '--yes');
    expect(refused).toMatchObject({ stderr: expect.stringContaining('C-1') });
    expect((await user.run('hold', id, '--release')).stdout).toBe(`${id}  released\n`);
    expect(await user.run('hold', id)).toMatchObject({ code: 2, stderr: expect.stringContaining('--release') });

    const set = await user.json('retention', '--audio-days', '30', '--delete-audio-after', 'transcribed');
    expect(set).toMatchObject({ retain_audio_days: 30, retain_text_days: null, delete_audio_after: 'transcribed' });
    const { stdout } = await user.run('retention', '--audio-days', 'unlimited', '--delete-audio-after', 'never');
    expect(stdout).toBe('Audio       unlimited\nRecordings  unlimited\n');
  });

  it('watches what happens', async () => {
    const child = user.start('watch', '--text', '--json', '--count', '2');
    const result = resultOf(child);
    // The stream begins with what happens after it was opened.
    await eventually(() => service.app.get(EventStreamsService).open === 1);
    await client.upload(NAME).expect(201);
    const { code, stdout } = await result;
    expect(code).toBe(0);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string });
    expect(events).toMatchObject([
      { event: 'recording.accepted', text: null },
      { event: 'recording.transcribed', text: TEXT },
    ]);
  });

  it('ends a watch on Ctrl-C with 130', async () => {
    const child = user.start('watch');
    child.stderr?.once('data', () => child.kill('SIGINT'));
    expect(await resultOf(child)).toMatchObject({ code: 130, stdout: '' });
  });

  it('deletes after a question, or with --yes', async () => {
    const { body } = await client.upload(NAME).expect(201);
    const { id: doomed } = body as { id: string };
    expect(await user.run('delete', doomed)).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') });
    const refused = await user.onTerminal(`vnotes delete ${doomed}`, [[/\[y\/N\] /, 'n\n']]);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('Nothing was deleted.') });
    await client.get(`/v1/recordings/${doomed}`).expect(200);
    expect(await user.onTerminal(`vnotes delete ${doomed}`, [[/\[y\/N\] /, 'y\n']])).toMatchObject({ code: 0 });
    await client.get(`/v1/recordings/${doomed}`).expect(404);
    expect(await user.run('delete', doomed, '--yes', '--json')).toMatchObject({ code: 4, stdout: '{"deleted":[]}\n' });
  });

  it('manages keys', async () => {
    const created = await user.json<{ id: string; api_key: string; api_secret: string; scopes: string[] }>(
      ...['keys', 'create', 'Robot', '--scopes', 'recordings:read,webhooks:read', '--expires', '30d'],
    );
    expect(created.scopes).toEqual(['recordings:read', 'webhooks:read']);
    const robot = user.with({ VNOTES_KEY: created.api_key, VNOTES_SECRET: created.api_secret });
    expect(await robot.run('delete', id, '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('This key lacks the scope recordings:write.'),
    });
    expect((await user.run('keys', 'list')).stdout).toContain('recordings:read,webhooks:read');
    expect(await user.run('keys', 'revoke', created.id, '--yes')).toMatchObject({ code: 0 });
    expect(await robot.run('list')).toMatchObject({ code: 3 });
  });

  it('triggers events with a test key, and none with a live one', async () => {
    expect(await user.run('trigger', 'recording.failed')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('This is a live key. Events are triggered with a test key only.'),
    });
    const fields = ['keys', 'create', 'CI', '--mode', 'test'];
    const created = await user.json<{ api_key: string; api_secret: string }>(...fields);
    expect((await user.run('keys', 'list', '--mode', 'test')).stdout).toContain('CI');
    const tester = user.with({ VNOTES_KEY: created.api_key, VNOTES_SECRET: created.api_secret });
    const kinds = ['accepted', 'transcribed', 'failed', 'deleted'].map((end) => `recording.${end}`);
    for (const kind of [...kinds, 'transcription.corrected']) {
      const event = await tester.json<{ event: string; body: { event: string } }>('trigger', kind);
      expect([event.event, event.body.event]).toEqual([kind, kind]);
    }
    const { stdout } = await tester.run('trigger', 'recording.failed', '--file', 'failed-codec');
    expect(stdout).toMatch(/failed .* The file contains ac3, which is not a codec of wav files\.\n$/);
  });

  it('shows usage', async () => {
    const { stdout } = await user.run('usage');
    expect(stdout).toMatch(/^Account .* enterprise, active\nThis month +\d+ recordings/);
    expect(stdout).toMatch(/\nQueued audio +0:0\d +100:00:00 +/);
    expect(stdout).toMatch(/\nRequests +\d+ of 1000 a minute left\n/);
    expect(await user.json('usage', '--by', 'key')).toMatchObject({ usage: [{ key_id: expect.any(String) }] });
  });

  it('records with the program that is there, and uploads', async () => {
    const tools = join(user.home, 'tools');
    await mkdir(tools);
    await copyFile(join(SPEECH, NAME), join(tools, NAME));
    // Stands for the microphone: writes its file when it is interrupted, as arecord completes its own.
    const script = `#!/bin/bash\nfile="\${@: -1}"\ntrap 'cp "${tools}/${NAME}" "$file"; exit 0' INT\ntouch "${tools}/ready"\nwhile :; do sleep 0.05; done\n`;
    await writeFile(join(tools, 'arecord'), script, { mode: 0o755 });
    const person = user.with({ PATH: `${tools}:/usr/bin:/bin` });
    const typed = await person.onTerminal('vnotes record --wait', [[/● 0:0[1-9]/, '\n']]);
    expect(typed).toMatchObject({ code: 0, stdout: expect.stringContaining(TEXT) });
    const timed = await person.run('record', '--seconds', '1', '--keep', 'memo.wav', '--json');
    expect(JSON.parse(timed.stdout)).toMatchObject({ uploads: [{ recording: { original_filename: 'memo.wav' } }] });
    await rm(join(tools, 'ready'));
    const child = person.start('record');
    void eventually(() => existsSync(join(tools, 'ready'))).then(() => child.kill('SIGINT'));
    expect(await resultOf(child)).toMatchObject({ code: 0, stdout: expect.stringMatching(/memo-.*\.wav/) });

    await mkdir(join(user.home, 'nothing'));
    const without = await user.with({ PATH: join(user.home, 'nothing') }).run('record');
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('No program that records was found') });
  });

  it('ends quietly when its reader has gone', async () => {
    const { stdout, code } = await user.onTerminal(
      'for i in 1 2 3; do vnotes list --all --json | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"; done; vnotes --help | head -1',
    );
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(0\r\n){3}Usage: vnotes/) });
  });

  it.each([
    [['list', '--bogus'], 2, "Unknown option '--bogus'"],
    [['lits'], 2, 'Did you mean list?'],
    [['list', '--limit', '0'], 2, 'It must be a whole number from 1 to 100.'],
    [['list', '--from', '2026-02-30'], 2, 'Write a day as 2026-01-31'],
    [['keys', 'create'], 2, "Missing required argument 'name'"],
    [['completion', 'fish'], 2, 'Use bash or zsh.'],
    [['get', 'unknown'], 4, 'No such recording.'],
    [['keys', 'create', 'x', '--expires', '2020-01-01T00:00:00Z'], 1, 'expires_at'],
  ])('ends %j with %i', async (args, code, message) => {
    expect(await user.run(...args)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });

  it('tells when the service cannot be reached, and with --verbose what the operator needs', async () => {
    const away = await user.with({ VNOTES_URL: `http://127.0.0.1:${await freePort()}` }).run('list');
    expect(away).toMatchObject({ code: 6, stdout: '', stderr: expect.stringMatching(/^Error: .*ECONNREFUSED.*\n$/) });
    const { stderr } = await user.run('get', 'unknown', '--verbose');
    expect(stderr).toMatch(/\n {2}request id: [\w-]{36}\n {2}answer: 404 NotFoundError 3001\n/);
  });

  it('has a help with an example for each command', async () => {
    const { stdout } = await user.run('--help');
    const names = [...stdout.matchAll(/^ {2}([a-z]+)[ |]/gm)].map(([, name]) => name ?? '');
    expect(names).toEqual(expect.arrayContaining(['upload', 'record', 'list', 'webhooks', 'completion']));
    for (const name of names.filter((one) => one !== 'help')) {
      const help = await user.run(name, '--help');
      expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\nExamples?:\n {2}\$ /) });
    }
  });
});

const FILES = [NAME, 'go-forward-ten-meters.ogg', 'go-forward-ten-meters.mp3'];
/** A hundred by hand: KILLS=100 node scripts/test.mjs test/sdk/cli.e2e.ts -t killed */
const KILLS = Number(process.env.KILLS ?? 6);

interface Uploads {
  uploads: {
    file: string;
    recording: {
      id: string;
      status: string;
      features: object | null;
      custom_tags: object | null;
      original_filename: string;
    };
    already_uploaded: boolean;
    transcription: string | { text: string } | null;
    output: string | null;
    error: { message: string; type: string; request_id: string } | null;
  }[];
}

describe('vnotes upload', () => {
  const api = useService({ ROLES: 'api' });

  const personOf = async (of = api, plan?: 'free'): Promise<{ client: ApiClient; user: VnotesUser }> => {
    const client = await of.account(plan);
    const user = await vnotes.user(client);
    for (const name of FILES) await copyFile(join(SPEECH, name), join(user.home, name));
    return { client, user };
  };
  const recordingsOf = async (client: ApiClient): Promise<{ id: string; original_filename: string }[]> => {
    const { body } = await client.get('/v1/recordings?limit=100').expect(200);
    return (body as { recordings: { id: string; original_filename: string }[] }).recordings;
  };

  describe('to a service that transcribes', () => {
    it('uploads several files with tags and writes their subtitles into a folder', async () => {
      const { user, client } = await personOf(service);
      const options = [
        '--tag',
        'order=A-1',
        '--tag',
        'kind=memo',
        '--languages',
        'english,german',
        '--vocabulary',
        'meters,yards',
      ];
      const { uploads } = await user.json<Uploads>('upload', ...FILES, ...options, '--format', 'srt', '--out', 'texts');
      expect(uploads.map(({ file }) => file)).toEqual(FILES);
      for (const { recording } of uploads) {
        expect(recording).toMatchObject({ status: 'transcribed', custom_tags: { order: 'A-1', kind: 'memo' } });
        expect(recording.features).toMatchObject({ languages: [{ language: 'english' }] });
      }
      expect(uploads.map(({ output }) => output)).toEqual(FILES.map((name) => join('texts', `${name}.srt`)));
      expect(await readFile(join(user.home, uploads[0]?.output ?? ''), 'utf8')).toMatch(
        /^1\n00:00:0.*\ngo forward ten/,
      );
      expect(await recordingsOf(client)).toHaveLength(3);
    });

    it('goes on after Ctrl-C, which says so and ends with 130', async () => {
      const { user, client } = await personOf(service);
      const child = user.start('upload', ...FILES, '--wait');
      child.stderr?.once('data', () => child.kill('SIGINT'));
      expect(await resultOf(child)).toMatchObject({ code: 130, stderr: expect.stringContaining('not uploaded twice') });
      const { code, stdout } = await user.run('upload', ...FILES, '--wait');
      expect({ code, texts: stdout.split('go forward ten meters').length - 1 }).toEqual({ code: 0, texts: 3 });
      expect(await recordingsOf(client)).toHaveLength(3);
    });

    it('reads standard input', async () => {
      const { user } = await personOf(service);
      const audio = await readFile(join(SPEECH, 'go-forward-ten-meters.mp3'));
      const { code, stdout } = await user.runWith(audio, 'upload', '-', '--filename', 'piped.mp3', '--wait');
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'go forward ten meters\n' });
      expect(await user.runWith('', 'upload', '-')).toMatchObject({
        code: 1,
        stderr: 'Error: standard input: it is empty.\n',
      });
    });
  });

  it('knows what was uploaded, unless --again or a deletion wants it anew', async () => {
    const { user, client } = await personOf();
    const first = await user.json<Uploads>('upload', NAME);
    const second = await user.json<Uploads>('upload', `./${NAME}`, join(user.home, NAME));
    expect(second.uploads).toMatchObject([
      { already_uploaded: true, recording: { id: first.uploads[0]?.recording.id } },
    ]);
    const again = await user.json<Uploads>('upload', NAME, '--again');
    expect(again.uploads[0]).toMatchObject({ already_uploaded: false });
    expect(await recordingsOf(client)).toHaveLength(2);

    for (const { id } of await recordingsOf(client)) await client.delete(`/v1/recordings/${id}`).expect(204);
    const anew = await user.json<Uploads>('upload', NAME);
    expect(anew.uploads[0]).toMatchObject({ already_uploaded: false });
    expect(await recordingsOf(client)).toMatchObject([{ id: anew.uploads[0]?.recording.id }]);
  });

  it('uploads no second copy without its notes about the first, nor in two runs at once', async () => {
    const { user, client } = await personOf();
    const elsewhere = user.with({ XDG_STATE_HOME: join(user.home, 'other-state') });
    const results = await Promise.all([user, user, elsewhere].map((one) => one.json<Uploads>('upload', NAME)));
    expect(new Set(results.map(({ uploads }) => uploads[0]?.recording.id)).size).toBe(1);
    expect(await recordingsOf(client)).toHaveLength(1);
  });

  it('finds what a run of two days ago has uploaded without learning it', async () => {
    const { user, client } = await personOf();
    const { uploads } = await user.json<Uploads>('upload', NAME);
    const folder = join(user.home, '.local/state/vnotes/uploads');
    const [file = ''] = await readdir(folder);
    const record = JSON.parse(await readFile(join(folder, file), 'utf8')) as object;
    const started_at = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const changed = { ...record, started_at, recording_id: null, idempotency_key: 'forgotten by the service' };
    await writeFile(join(folder, file), JSON.stringify(changed));
    await api.database.query(
      "UPDATE recordings SET created_at = now() - interval '2 days' + interval '1 minute' WHERE id = $1",
      [uploads[0]?.recording.id],
    );
    const second = await user.json<Uploads>('upload', NAME);
    expect(second.uploads[0]).toMatchObject({ already_uploaded: true, recording: { id: uploads[0]?.recording.id } });
    expect(await recordingsOf(client)).toHaveLength(1);
  });

  it('makes one recording of each file, at whatever moment it is killed', async () => {
    const { client, user } = await personOf();
    const audio = await readFile(join(SPEECH, 'go-forward-ten-meters.ogg'));
    const files: string[] = [];
    const moments: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const added = [1, 2, 3].map((n) => `note-${kill}-${n}.ogg`);
      // Different bytes: the container allows some behind its end.
      for (const name of added) await writeFile(join(user.home, name), Buffer.concat([audio, Buffer.from(name)]));
      files.push(...added);
      const child = user.start('upload', ...added, '--jobs', '3');
      const result = resultOf(child);
      const ms = randomInt(120, 500);
      moments.push(ms);
      await delay(ms);
      child.kill('SIGKILL');
      await result;
    }
    const total = async () => ((await client.get('/v1/recordings').expect(200)).body as { total: number }).total;
    const before = await total();
    const { uploads } = await user.json<Uploads>('upload', ...files, '--jobs', '3');
    const known = uploads.filter((upload) => upload.already_uploaded).length;
    reportMeasurement(
      `upload killed ${KILLS} times (after ${moments.join(' ')} ms): ${before} of ${files.length} files were stored, ` +
        `${known} of them were known to the next run; then there were ${await total()} recordings`,
    );
    expect(await total()).toBe(files.length);
    expect(new Set(uploads.map(({ recording }) => recording.id)).size).toBe(files.length);
    expect(uploads.map(({ recording }) => recording.original_filename)).toEqual(files);
  });

  it('keeps to the limits of a small plan', async () => {
    const { user, client } = await personOf(api, 'free');
    const { uploads } = await user.json<Uploads>('upload', ...FILES, '--jobs', '3');
    expect(uploads.map(({ error }) => error)).toEqual([null, null, null]);
    expect(await recordingsOf(client)).toHaveLength(3);
  });

  it('tells which file failed and why, and uploads the others', async () => {
    const { user, client } = await personOf();
    await writeFile(join(user.home, 'notes.txt'), 'no audio');
    const { code, stdout, stderr } = await user.run('upload', 'notes.txt', NAME, '--json');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: notes\.txt: file must be audio in .*this looks like text\.\n$/);
    const { uploads } = JSON.parse(stdout) as Uploads;
    expect(uploads).toMatchObject([
      { file: 'notes.txt', recording: null, error: { type: 'ValidationError', request_id: expect.any(String) } },
      { file: NAME, error: null },
    ]);
    expect(await recordingsOf(client)).toHaveLength(1);
  });

  it.each([
    [[NAME, 'missing.ogg'], 2, 'There is no file missing.ogg. Nothing was uploaded.'],
    [['.'], 2, '. is a folder. Name its files: ./*'],
    [['big.wav'], 5, 'big.wav: it has 26.2 MB; the service takes at most 25 MB.'],
    [[...FILES, '--format', 'vtt'], 2, '--format vtt with several files needs --out FOLDER.'],
    [[NAME, '--tag', 'novalue'], 2, 'Write a tag as KEY=VALUE.'],
  ])('refuses %j', async (args, code, message) => {
    const { user, client } = await personOf();
    await writeFile(join(user.home, 'big.wav'), '');
    await truncate(join(user.home, 'big.wav'), 26_214_401);
    const result = await user.run('upload', ...args);
    expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(await recordingsOf(client)).toEqual([]);
  });
});

interface Received {
  event_id: string;
  attempt: number;
  signature: string;
  body: { event: string; recording?: { id: string; custom_tags: object } };
}

describe('vnotes webhooks', () => {
  const personOf = async (): Promise<{ client: ApiClient; user: VnotesUser }> => {
    const client = await service.account();
    return { client, user: await vnotes.user(client) };
  };
  const webhooksOf = async (client: ApiClient): Promise<{ id: string; url: string; events: string[] }[]> => {
    const { body } = await client.get('/v1/webhooks').expect(200);
    return (body as { webhooks: { id: string; url: string; events: string[] }[] }).webhooks;
  };
  const leftovers = ({ home }: VnotesUser) => readdir(join(home, '.local/state/vnotes/listeners'));
  /** Resolves when the listener has its test event. */
  const listening = async (child: ChildProcess): Promise<void> => {
    if (!child.stdout) throw new Error('no standard output');
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('webhook.test')) return;
  };

  it('listen prints a signed event, refuses a forged one, and removes its webhook', async () => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen', '--json', '--count', '1', '--events', 'recording.transcribed');
    const lines: Received[] = [];
    const result = resultOf(child);
    child.stdout?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trimEnd().split('\n')) lines.push(JSON.parse(line) as Received);
    });
    await eventually(() => lines.length > 0);
    const [webhook] = await webhooksOf(client);
    expect(webhook).toMatchObject({ events: ['recording.transcribed'] });
    const url = webhook?.url ?? '';

    const body = JSON.stringify({ event: 'recording.transcribed', recording: { id: 'forged' } });
    const signature = `sha256=${createHmac('sha256', 'guess').update(body).digest('hex')}`;
    const forged = await fetch(url, { method: 'POST', body, headers: { 'X-Service-Signature': signature } });
    expect(forged.status).toBe(401);
    expect((await fetch(new URL('/', url))).status).toBe(404);

    const { body: recording } = await client.upload(NAME, { custom_tags: '{"order":"A-1"}' }).expect(201);
    const { code, stderr } = await result;
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Warning: A request was refused.'),
    });
    expect(lines.map((line) => line.body.event)).toEqual(['webhook.test', 'recording.transcribed']);
    expect(lines[1]).toMatchObject({
      signature: 'valid',
      attempt: 1,
      event_id: expect.any(String),
      body: { recording: { id: (recording as { id: string }).id, custom_tags: { order: 'A-1' } } },
    });
    expect(await webhooksOf(client)).toEqual([]);
    expect(await leftovers(user)).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('listen removes its webhook on %s', async (signal, code) => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen');
    const result = resultOf(child);
    await listening(child);
    expect(await webhooksOf(client)).toHaveLength(1);
    child.kill(signal);
    expect(await result).toMatchObject({ code, stderr: expect.stringContaining('The webhook is removed.') });
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen removes its webhook when it is stopped while it creates it', async () => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen');
    const result = resultOf(child);
    await eventually(async () => (await leftovers(user).catch(() => [])).length > 0);
    child.kill('SIGTERM');
    expect(await result).toMatchObject({ code: 143 });
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen removes what a killed run has left, and not what a living one uses', async () => {
    const { client, user } = await personOf();
    const [killed, living] = [user.start('webhooks', 'listen'), user.start('webhooks', 'listen')];
    const [, livingResult] = [resultOf(killed), resultOf(living)];
    await Promise.all([listening(killed), listening(living)]);
    expect(await webhooksOf(client)).toHaveLength(2);
    killed.kill('SIGKILL');
    await eventually(() => killed.signalCode !== null);
    const next = user.start('webhooks', 'listen');
    const nextResult = resultOf(next);
    await listening(next);
    expect(await webhooksOf(client)).toHaveLength(2);
    next.kill('SIGINT');
    expect((await nextResult).stderr).toContain('Removed 1 webhook(s) that a killed run had left.');
    living.kill('SIGINT');
    await livingResult;
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen forwards events with their headers to an own server', async () => {
    const { client, user } = await personOf();
    const own = await WebhookReceiver.listen();
    const child = user.start('webhooks', 'listen', '--forward', own.url(), '--count', '1');
    const result = resultOf(child);
    await own.waitFor((seen) => seen.length === 1);
    await client.upload(NAME).expect(201);
    const [, event] = await own.waitFor((seen) => seen.length === 2);
    expect(event?.headers).toMatchObject({ 'x-service-signature': expect.stringMatching(/^sha256=/) });
    expect(await result).toMatchObject({ code: 0, stdout: expect.stringContaining('→ 200') });
    await own.close();
  });

  it('listen says what to do where the service sends to no such address', async () => {
    const strict = await startService(service.environment, { ROLES: 'api,deliverer', WEBHOOK_ALLOWED_CIDRS: '' });
    const client = await strict.account();
    const refused = await (await vnotes.user(client)).run('webhooks', 'listen');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/WEBHOOK_ALLOWED_CIDRS=127\.0\.0\.0\/8,::1\/128.*--public-url/),
    });
    // A tunnel that leads nowhere is found by the test event.
    const args = ['webhooks', 'listen', '--public-url', 'https://tunnel.example', '--port', '18789'];
    const unreachable = await (await vnotes.user(client)).run(...args);
    expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot deliver to this machine') });
    expect(await webhooksOf(client)).toEqual([]);
    await strict.close();
  });

  it('creates, lists, tests, shows deliveries, sends again and deletes', async () => {
    const { client, user } = await personOf();
    const receiver = await WebhookReceiver.listen();
    const made = await user.json<{ id: string; secret: string }>('webhooks', 'create', receiver.url());
    expect(made.secret).toMatch(/^whsec_/);
    expect((await user.run('webhooks', 'list')).stdout).toContain(`${made.id}  active`);
    expect(await user.run('webhooks', 'test', made.id)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Arrived'),
    });

    const { body } = await client.upload(NAME).expect(201);
    await client.finished((body as { id: string }).id);
    const rows = await eventually(async () => {
      const { deliveries } = await user.json<{ deliveries: { id: string; status: string }[] }>(
        ...['webhooks', 'deliveries', made.id, '--status', 'delivered'],
      );
      return deliveries.length === 1 && deliveries;
    });
    const [delivery] = rows;
    const shown = await user.run('webhooks', 'deliveries', made.id, delivery?.id ?? '');
    expect(shown.stdout).toMatch(/Attempt 1 .* 200 .*ms\nBody +\{"event":"recording\.transcribed"/);
    expect(await user.run('webhooks', 'redeliver', made.id, delivery?.id ?? '')).toMatchObject({ code: 0 });
    expect(await user.json('webhooks', 'redeliver', made.id, '--status', 'failed')).toMatchObject({ count: 0 });
    await receiver.waitFor((seen) => seen.length === 3);

    await receiver.close();
    const away = await user.run('webhooks', 'test', made.id);
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('No answer (connect)') });
    expect(await user.run('webhooks', 'delete', made.id, '--yes')).toMatchObject({ code: 0 });
    expect(await webhooksOf(client)).toEqual([]);
  });
});

/** Where there is no zsh its completion is not tested. ZSH names another one. */
const ZSH =
  process.env.ZSH ??
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'zsh'))
    .find(existsSync);
const execute = promisify(execFile);

describe('vnotes completion', () => {
  it('bash completes each of these', async () => {
    const rows = [
      ['we', 'webhooks'],
      ['webhooks li', 'list listen'],
      ['webhooks listen --p', '--port --public-url --profile'],
      ['list --status ', 'processing transcribed failed'],
      ['--profile work key', 'keys'],
      ['upload --tag a=b --format ', 'text srt vtt rttm json'],
      ['completion z', 'zsh'],
      ['upload note', ''],
    ] as const;
    const commands = rows.map(([typed]) => {
      const words = typed.endsWith(' ') ? `${typed} ''` : typed;
      return `COMPREPLY=(); COMP_WORDS=(vnotes ${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _vnotes
        echo "${typed}: \${COMPREPLY[*]}"`;
    });
    const script = ['source <("$0" "$1" completion bash)', ...commands].join('\n');
    const { stdout } = await execute('bash', ['--norc', '-c', script, process.execPath, vnotes.program]);
    expect(stdout.split('\n')).toEqual([...rows.map(([typed, expected]) => `${typed}: ${expected}`), '']);
  });

  it('bash completes what is typed on a terminal', async () => {
    const user = await vnotes.user();
    await writeFile(join(user.home, 'meeting.ogg'), '');
    const { stdout } = await user.onTerminal('export PS1="READY "; bash --norc --noprofile -i', [
      [/READY /, 'source <("$NODE" "$VNOTES" completion bash); echo DO"NE"\n'],
      [/DONE\s+READY /, 'echo vnotes; vnotes() { echo "got: $*"; }\n'],
      [/vnotes\s+READY /, 'vnotes upl\tmee\t--wa\t\n'],
      [/got: /, 'exit\n'],
    ]);
    expect(stdout).toContain('got: upload meeting.ogg --wait');
  });

  (ZSH ? it : it.skip)('zsh completes what is typed on a terminal', async () => {
    const user = await vnotes.user();
    await mkdir(join(user.home, 'zsh'));
    const functions = process.env.ZSH_FUNCTIONS ? `fpath=(${process.env.ZSH_FUNCTIONS}); ` : '';
    const modules = process.env.ZSH_MODULES ? `module_path=(${process.env.ZSH_MODULES}); ` : '';
    const setup = `${modules}${functions}autoload -Uz compinit; compinit -D -u; PS1='READY '; source <("$NODE" "$VNOTES" completion zsh)\nvnotes() { echo "got: $*" }\n`;
    await writeFile(join(user.home, 'zsh', '.zshrc'), setup);
    const { stdout } = await user.onTerminal(`export TERM=dumb ZDOTDIR="$HOME/zsh"; "${ZSH}" -i`, [
      [/READY /, 'vnotes webh\tliste\t--public\thttp://x --ev\ty\n'],
      [/got: /, 'vnotes list --status trans\t\n'],
      [/got: list/, 'exit\n'],
    ]);
    expect(stdout).toContain('got: webhooks listen --public-url http://x --events y');
    expect(stdout).toContain('got: list --status transcribed');
  });
});
