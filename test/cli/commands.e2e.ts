import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { EventStreamsService } from '../../src/modules/webhooks/events/event-streams.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { garbage } from '../support/audio/audio-bytes.js';
import { freePort } from '../support/servers/free-port.js';
import { BuiltVnotes, resultOf, type VnotesUser } from '../support/cli/vnotes.js';

const NAME = 'go-forward-ten-meters.wav';
const TEXT = 'go forward ten meters';
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001b\[\d+m/;

describe('vnotes', () => {
  const service = useService();
  const vnotes = BuiltVnotes.use();
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
      stderr: 'No transcript contains "nobody said".\n',
    });
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
      'for i in 1 2 3 4 5; do vnotes list --all --json | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"; done; vnotes --help | head -1',
    );
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(0\r\n){5}Usage: vnotes/) });
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
