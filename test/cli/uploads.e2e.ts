import { randomInt } from 'node:crypto';
import { copyFile, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../src/testing/api-client.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { resultOf, BuiltVnotes, type VnotesUser } from '../support/cli/vnotes.js';
import { reportMeasurement } from '../support/service/measurements.js';

const NAMES = ['go-forward-ten-meters.wav', 'go-forward-ten-meters.ogg', 'go-forward-ten-meters.mp3'];
/** A hundred by hand: KILLS=100 node scripts/test.mjs test/cli/uploads.e2e.ts -t killed */
const KILLS = Number(process.env.KILLS ?? 6);

interface Uploads {
  uploads: {
    file: string;
    recording: { id: string; status: string; custom_tags: object | null; original_filename: string };
    already_uploaded: boolean;
    transcription: string | { text: string } | null;
    output: string | null;
    error: { message: string; type: string; request_id: string } | null;
  }[];
}

describe('vnotes upload', () => {
  const service = useService({ ROLES: 'api' });
  const vnotes = BuiltVnotes.use();

  const personOf = async (of = service, plan?: 'free'): Promise<{ client: ApiClient; user: VnotesUser }> => {
    const client = await of.account(plan);
    const user = await vnotes.user(client);
    for (const name of NAMES) await copyFile(join(SPEECH, name), join(user.home, name));
    return { client, user };
  };
  const recordingsOf = async (client: ApiClient): Promise<{ id: string; original_filename: string }[]> => {
    const { body } = await client.get('/v1/recordings?limit=100').expect(200);
    return (body as { recordings: { id: string; original_filename: string }[] }).recordings;
  };

  describe('to a service that transcribes', () => {
    const transcribing = useService();

    it('uploads several files with tags and writes their subtitles into a folder', async () => {
      const { user, client } = await personOf(transcribing);
      const options = [
        '--tag',
        'order=A-1',
        '--tag',
        'kind=memo',
        '--language',
        'english',
        '--vocabulary',
        'meters,yards',
      ];
      const { uploads } = await user.json<Uploads>('upload', ...NAMES, ...options, '--format', 'srt', '--out', 'texts');
      expect(uploads.map(({ file }) => file)).toEqual(NAMES);
      for (const { recording } of uploads) {
        expect(recording).toMatchObject({ status: 'transcribed', custom_tags: { order: 'A-1', kind: 'memo' } });
      }
      expect(uploads.map(({ output }) => output)).toEqual(NAMES.map((name) => join('texts', `${name}.srt`)));
      expect(await readFile(join(user.home, uploads[0]?.output ?? ''), 'utf8')).toMatch(
        /^1\n00:00:0.*\ngo forward ten/,
      );
      expect(await recordingsOf(client)).toHaveLength(3);
    });

    it('goes on after Ctrl-C, which says so and ends with 130', async () => {
      const { user, client } = await personOf(transcribing);
      const child = user.start('upload', ...NAMES, '--wait');
      child.stderr?.once('data', () => child.kill('SIGINT'));
      expect(await resultOf(child)).toMatchObject({ code: 130, stderr: expect.stringContaining('not uploaded twice') });
      const { code, stdout } = await user.run('upload', ...NAMES, '--wait');
      expect({ code, texts: stdout.split('go forward ten meters').length - 1 }).toEqual({ code: 0, texts: 3 });
      expect(await recordingsOf(client)).toHaveLength(3);
    });

    it('reads standard input', async () => {
      const { user } = await personOf(transcribing);
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
    const [name = ''] = NAMES;
    const first = await user.json<Uploads>('upload', name);
    const second = await user.json<Uploads>('upload', `./${name}`, join(user.home, name));
    expect(second.uploads).toMatchObject([
      { already_uploaded: true, recording: { id: first.uploads[0]?.recording.id } },
    ]);
    const again = await user.json<Uploads>('upload', name, '--again');
    expect(again.uploads[0]).toMatchObject({ already_uploaded: false });
    expect(await recordingsOf(client)).toHaveLength(2);

    for (const { id } of await recordingsOf(client)) await client.delete(`/v1/recordings/${id}`).expect(204);
    const anew = await user.json<Uploads>('upload', name);
    expect(anew.uploads[0]).toMatchObject({ already_uploaded: false });
    expect(await recordingsOf(client)).toMatchObject([{ id: anew.uploads[0]?.recording.id }]);
  });

  it('uploads no second copy without its notes about the first, nor in two runs at once', async () => {
    const { user, client } = await personOf();
    const elsewhere = user.with({ XDG_STATE_HOME: join(user.home, 'other-state') });
    const [name = ''] = NAMES;
    const results = await Promise.all([user, user, elsewhere].map((one) => one.json<Uploads>('upload', name)));
    expect(new Set(results.map(({ uploads }) => uploads[0]?.recording.id)).size).toBe(1);
    expect(await recordingsOf(client)).toHaveLength(1);
  });

  it('finds what a run of two days ago has uploaded without learning it', async () => {
    const { user, client } = await personOf();
    const [name = ''] = NAMES;
    const { uploads } = await user.json<Uploads>('upload', name);
    const folder = join(user.home, '.local/state/vnotes/uploads');
    const [file = ''] = await readdir(folder);
    const record = JSON.parse(await readFile(join(folder, file), 'utf8')) as object;
    const started_at = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const changed = { ...record, started_at, recording_id: null, idempotency_key: 'forgotten by the service' };
    await writeFile(join(folder, file), JSON.stringify(changed));
    await service.database.query(
      "UPDATE recordings SET created_at = now() - interval '2 days' + interval '1 minute' WHERE id = $1",
      [uploads[0]?.recording.id],
    );
    const second = await user.json<Uploads>('upload', name);
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
    const { user, client } = await personOf(service, 'free');
    const { uploads } = await user.json<Uploads>('upload', ...NAMES, '--jobs', '3');
    expect(uploads.map(({ error }) => error)).toEqual([null, null, null]);
    expect(await recordingsOf(client)).toHaveLength(3);
  });

  it('tells which file failed and why, and uploads the others', async () => {
    const { user, client } = await personOf();
    await writeFile(join(user.home, 'notes.txt'), 'no audio');
    const [name = ''] = NAMES;
    const { code, stdout, stderr } = await user.run('upload', 'notes.txt', name, '--json');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: notes\.txt: file must be audio in .*this looks like text\.\n$/);
    const { uploads } = JSON.parse(stdout) as Uploads;
    expect(uploads).toMatchObject([
      { file: 'notes.txt', recording: null, error: { type: 'ValidationError', request_id: expect.any(String) } },
      { file: name, error: null },
    ]);
    expect(await recordingsOf(client)).toHaveLength(1);
  });

  it.each([
    [['missing.ogg'], 2, 'There is no file missing.ogg. Nothing was uploaded.'],
    [[NAMES[0] ?? '', 'missing.ogg'], 2, 'There is no file missing.ogg. Nothing was uploaded.'],
    [['.'], 2, '. is a folder. Name its files: ./*'],
    [['big.wav'], 5, 'big.wav: it has 26.2 MB; the service takes at most 25 MB.'],
    [[...NAMES, '--format', 'vtt'], 2, '--format vtt with several files needs --out FOLDER.'],
    [[NAMES[0] ?? '', '--tag', 'novalue'], 2, 'Write a tag as KEY=VALUE.'],
  ])('refuses %j', async (args, code, message) => {
    const { user, client } = await personOf();
    await writeFile(join(user.home, 'big.wav'), '');
    await truncate(join(user.home, 'big.wav'), 26_214_401);
    const result = await user.run('upload', ...args);
    expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    expect(await recordingsOf(client)).toEqual([]);
  });
});
