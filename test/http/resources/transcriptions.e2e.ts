import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import { selectDifferences } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { RetranscriptionsService } from '../../../src/modules/transcriptions/retranscriptions.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectHeaders, expectInvalid, statusesOf } from '../../support/http/expect-errors.js';
import {
  CORRECTED_EVENT,
  SINGLE_RECORDING,
  TRANSCRIPTION,
  TRANSCRIPTION_VERSION,
} from '../../support/http/response-shapes.js';
import {
  claimRecording,
  fail,
  transcribe,
  type TranscriptOptions,
  upload,
} from '../../support/state/recording-states.js';

const RECORDINGS = '/v1/recordings';
const of = (id: string): string => `${RECORDINGS}/${id}/transcription`;

const api = useService({ ROLES: 'api', CLIENT_ENGINES: 'pocketsphinx' });
let client: ApiClient;

beforeEach(async () => {
  client = await api.account();
});

describe('a transcription', () => {
  it('is 404 with a code of its own while there is none, and the reason when it has failed (D23, D26)', async () => {
    const id = await upload(client);
    const expectNone = async (code: string, details: object): Promise<void> => {
      const answer = await client.get(of(id));
      expect(answer.status).toBe(404);
      const error = { code, message: expect.any(String), type: 'NotFoundError', details };
      expect(answer.body).toStrictEqual({ error });
      expectHeaders(answer);
    };
    await expectNone('TRANSCRIPTION_NOT_READY', {});
    await fail(api, id, 'The file contains no audio');
    await expectNone('TRANSCRIPTION_FAILED', { reason: 'The file contains no audio' });
    await client.post(`${RECORDINGS}/${id}/retry`).expect(202);
    await expectNone('TRANSCRIPTION_NOT_READY', {});
  });

  it('is shown with exactly the fields of its shape (2.5, D2, D27)', async () => {
    const id = await upload(client);
    await transcribe(api, id, { text: 'good morning', language: 'english' });
    const answer = await client.get(of(id)).expect(200);

    expect(answer.body).toStrictEqual({
      ...TRANSCRIPTION,
      recording_id: id,
      tenant_id: client.accountId,
      text: 'good morning',
      confidence: 0.9,
      language: 'english',
      words: '[{"word":"good","start":0,"end":0.1,"confidence":0.9}]',
      uri: of(id),
    });
    expectHeaders(answer);
  });

  it('keeps any text, in any script and of any length (D27)', async () => {
    const id = await upload(client);
    const text = `„Grüß Gott“, said 王さん 🎙 — ${'und so weiter '.repeat(10_000)}`;
    await transcribe(api, id, { text });

    expect((await client.get(of(id)).expect(200)).body.text).toBe(text);
  });

  it('of a recording without speech is empty, and no error (D23)', async () => {
    const id = await upload(client);
    await transcribe(api, id, { text: '', noSpeech: true });

    const { body } = await client.get(of(id)).expect(200);
    expect(body).toMatchObject({ text: '', confidence: 0, words: '[]' });
  });
});

describe('a transcription in other forms (D42)', () => {
  let path: string;

  beforeEach(async () => {
    const words = [
      { word: 'go', start: 0.46, end: 0.63, confidence: 0.97 },
      { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
      { word: 'now', start: 3.5, end: 3.9, confidence: null },
    ];
    const id = await upload(client);
    await transcribe(api, id, { text: 'Go forward. Now!', durationMs: 4000, words });
    path = of(id);
  });

  const SRT = '1\n00:00:00,460 --> 00:00:01,460\nGo forward.\n\n2\n00:00:03,500 --> 00:00:04,500\nNow!\n';
  const VTT = 'WEBVTT\n\n00:00:00.460 --> 00:00:01.460\nGo forward.\n\n00:00:03.500 --> 00:00:04.500\nNow!\n';

  it('is as asked, with its type and length', () =>
    checkRows<[format: string, type: string, expected: string]>(
      [
        ['text', 'text/plain; charset=utf-8', 'Go forward. Now!'],
        ['srt', 'application/x-subrip; charset=utf-8', SRT],
        ['vtt', 'text/vtt; charset=utf-8', VTT],
        ['paragraphs', 'text/plain; charset=utf-8', 'Go forward.\n\nNow!'],
      ],
      async (format, type, expected) => {
        const answer = await client.get(`${path}?format=${format}`).buffer(true).expect(200);
        expect(Buffer.isBuffer(answer.body) ? answer.body.toString() : answer.text).toBe(expected);
        expect(answer.headers).toMatchObject({
          'content-type': type,
          'content-length': String(Buffer.byteLength(expected)),
          vary: 'Accept',
          'transcription-version': 'original',
          'cache-control': 'no-store',
        });
        expectHeaders(answer);
      },
    ));

  it('asks the parameter before the header Accept, and names a value that it does not know', async () => {
    const typeOf = async (query: string, accept: string): Promise<string> =>
      (await client.get(`${path}${query}`).set('Accept', accept).expect(200)).headers['content-type'] as string;
    expect(await typeOf('', 'text/vtt;q=0.5, application/x-subrip;q=0.8, */*;q=0.1')).toMatch(/^application\/x-subrip/);
    expect(await typeOf('', 'application/xml')).toMatch(/^application\/json/);
    expect(await typeOf('?format=json', 'text/vtt')).toMatch(/^application\/json/);
    expectInvalid(await client.get(`${path}?format=docx`), 'format', /json, text, srt, vtt, paragraphs or rttm/);
    expectInvalid(await client.get(`${path}?format=srt&format=vtt`), 'format', /only once/);
    expectInvalid(await client.get(`${path}?version=2`), 'version', /current or original/);
    const { body } = await client.get(`${of(await upload(client))}?format=vtt`).expect(404);
    expect(body.error.code).toBe('TRANSCRIPTION_NOT_READY');
  });

  it('is 304 for the tag that it has, in each form its own, and sent for any other', async () => {
    const tags = await Promise.all(
      ['json', 'text', 'srt', 'vtt', 'paragraphs'].map(async (format) => {
        const { headers } = await client.get(`${path}?format=${format}`).expect(200);
        const tag = headers.etag as string;
        const same = await client.get(`${path}?format=${format}`).set('If-None-Match', `"x", W/${tag}`);
        expect([same.status, same.text, same.headers.etag]).toEqual([304, '', tag]);
        expectHeaders(same);
        return tag;
      }),
    );
    expect(new Set(tags).size).toBe(5);
    await client
      .get(`${path}?format=vtt`)
      .set('If-None-Match', tags[0] as string)
      .expect(200);
  });
});

const SPOKEN = [
  { word: 'go', start: 0.46, end: 0.63, confidence: 0.97 },
  { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
  { word: 'ten', start: 1.3, end: 1.5, confidence: 0.8 },
  { word: 'meters', start: 1.5, end: 2, confidence: 0.7 },
];

describe('a correction (D44)', () => {
  let id: string;

  beforeEach(async () => {
    id = await transcribed();
  });

  async function transcribed(by = client, durationMs = 2000): Promise<string> {
    const recordingId = await upload(by);
    await transcribe(api, recordingId, { text: 'go forward ten meters', words: SPOKEN, durationMs });
    return recordingId;
  }

  const textOf = async (path: string): Promise<string> => (await client.get(path).expect(200)).body.text;
  const searchedOf = async (recordingId: string): Promise<string | undefined> => {
    const [row] = await api.database.query<{ text: string }>(
      'SELECT text FROM search_documents WHERE recording_id = $1',
      [recordingId],
    );
    return row?.text;
  };
  const rowsOf = (recordingId: string) =>
    api.database.query('SELECT revision, corrected_text FROM transcriptions WHERE recording_id = $1', [recordingId]);
  const eventsOf = async (recordingId: string): Promise<Record<string, unknown>[]> => {
    const rows = await api.database.query<{ body: string }>(
      `SELECT body FROM events WHERE recording_id = $1 AND kind = 'transcription.corrected' ORDER BY created_at, id`,
      [recordingId],
    );
    return rows.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  };

  it('of the text is served with the times of unchanged words, and the engine’s text stays available', async () => {
    const { body: before } = await client.get(of(id)).expect(200);
    const answer = await client.put(of(id), { text: 'Go forward about ten metres.' }).expect(200);

    expect(answer.body).toStrictEqual({ ...TRANSCRIPTION, recording_id: id, text: 'Go forward about ten metres.' });
    expect(JSON.parse(answer.body.words)).toEqual([
      { word: 'Go', start: 0.46, end: 0.63, confidence: 0.97 },
      { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
      { word: 'about', start: 1.1, end: 1.3, confidence: 1 },
      { word: 'ten', start: 1.3, end: 1.5, confidence: 0.8 },
      { word: 'metres.', start: 1.5, end: 2, confidence: 1 },
    ]);
    expect(answer.body).toMatchObject({ ...before, ...pick(answer.body, ['text', 'words', 'updated_at']) });
    expectHeaders(answer);

    const served = await client.get(of(id)).expect(200);
    expect([served.body, served.headers.etag]).toEqual([answer.body, answer.headers.etag]);
    expect(served.headers['transcription-version']).toBe('corrected');
    const srt = await client
      .get(`${of(id)}?format=srt`)
      .buffer(true)
      .expect(200);
    expect(srt.text).toContain('Go forward about ten metres.');
    const original = await client.get(`${of(id)}?version=original`).expect(200);
    expect(original.body).toStrictEqual(before);
    expect(original.headers['transcription-version']).toBe('original');
    expect((await client.get(`${of(id)}?version=original&format=text`)).text).toBe('go forward ten meters');
  });

  it('of the words has their text, as a list and as the JSON text that transcriptions have', async () => {
    const words = [
      { word: 'Stop', start: 0.5, end: 0.9, confidence: 0.5 },
      { word: 'now.', start: 1, end: 1.5 },
    ];
    const { body } = await client.put(of(id), { words }).expect(200);
    expect(body.text).toBe('Stop now.');
    expect(JSON.parse(body.words)).toEqual([words[0], { ...words[1], confidence: 1 }]);
    const moved = [words[0], { ...words[1], start: 1.2, confidence: 1 }];
    expect(JSON.parse((await client.put(of(id), { words: moved }).expect(200)).body.words)).toEqual(moved);

    const { body: read } = await client.get(`${of(id)}?version=original`).expect(200);
    const { body: again } = await client.put(of(id), { words: read.words }).expect(200);
    expect([again.text, again.words]).toEqual([read.text, read.words]);
    expect((await client.put(of(id), { words: [] }).expect(200)).body).toMatchObject({ text: '', words: '[]' });
    const japanese = [
      { word: '今日', start: 0, end: 1 },
      { word: 'は。', start: 1, end: 2 },
    ];
    expect((await client.put(of(id), { words: japanese }).expect(200)).body.text).toBe('今日は。');
  });

  it('may have paragraphs, be empty, and has no words where the engine gave none', async () => {
    await client.put(of(id), { text: 'Go.\n\nForward.' }).expect(200);
    expect((await client.get(`${of(id)}?format=paragraphs`)).text).toBe('Go.\n\nForward.');
    expect((await client.put(of(id), { text: '' }).expect(200)).body).toMatchObject({ text: '', words: '[]' });

    const untimed = await upload(client);
    await transcribe(api, untimed, { text: 'go', words: [] });
    const { body } = await client.put(of(untimed), { text: 'Go on.' }).expect(200);
    expect(body).toMatchObject({ text: 'Go on.', words: '[]' });
  });

  it('is searched, and removed by DELETE, once', async () => {
    const { body: before } = await client.get(of(id)).expect(200);
    await client.put(of(id), { text: 'Other.' }).expect(200);
    expect(await searchedOf(id)).toBe('Other.');
    const answer = await client.delete(of(id)).expect(204);
    expect(await searchedOf(id)).toBe('go forward ten meters');
    expect(answer.text).toBe('');
    expectHeaders(answer);

    const { body } = await client.get(of(id)).expect(200);
    expect(body).toStrictEqual({ ...before, updated_at: TRANSCRIPTION.updated_at });
    expectError(await client.delete(of(id)), 'NotFoundError');
    expectError(await client.delete(of(await transcribed())), 'NotFoundError');
  });

  it('guards against two editors by If-Match', async () => {
    const { headers: read } = await client.get(of(id)).expect(200);
    const { headers: subtitles } = await client.get(`${of(id)}?format=srt`).expect(200);
    const put = (text: string, tag: string) => client.put(of(id), { text }).set('If-Match', tag);
    const first = await put('First.', `"other", ${subtitles.etag}`).expect(200);
    expect(first.headers.etag).not.toBe(read.etag);
    const { etag } = first.headers;

    for (const tag of [read.etag as string, subtitles.etag as string, '"other"', `W/${etag}`]) {
      expectError(await put('Second.', tag), 'PreconditionFailedError', { etag });
    }
    expectError(await client.delete(of(id)).set('If-Match', read.etag as string), 'PreconditionFailedError', { etag });
    for (const tag of ['x', '', '"a" "b"', '"a']) expectInvalid(await put('Second.', tag), 'If-Match', /ETag/);
    expect(await textOf(of(id))).toBe('First.');

    await put('Second.', '*').expect(200);
    const { headers: second } = await client.get(of(id)).expect(200);
    await client
      .delete(of(id))
      .set('If-Match', second.etag as string)
      .expect(204);
    // The same text as at first is another version: the tag of a correction never comes back.
    expectError(await put('Third.', read.etag as string), 'PreconditionFailedError', { etag: expect.any(String) });
  });

  it('of 50 editors who have read the same version one wins, and one event tells of it', async () => {
    const { headers } = await client.get(of(id)).expect(200);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        client.put(of(id), { text: `Editor ${i}.` }).set('If-Match', headers.etag as string),
      ),
    );
    expect(statusesOf(answers)).toEqual([200, ...Array<number>(49).fill(412)]);
    const winner = answers.find(({ status }) => status === 200);
    expect(await textOf(of(id))).toBe(winner?.body.text);
    const kept = [await rowsOf(id), await searchedOf(id), (await eventsOf(id)).length];
    expect(kept).toEqual([[{ revision: 2, corrected_text: winner?.body.text }], winner?.body.text, 1]);
  });

  it('is announced with the keys of its event, also when it is removed, and not when nothing changes', async () => {
    const tags = '{"b":"1","7":"é"}';
    const tagged = await upload(client, { custom_tags: tags });
    await transcribe(api, tagged, { text: 'go', durationMs: 2500 });
    await client.put(of(tagged), { text: 'Go.' }).expect(200);
    await client.put(of(tagged), { text: 'Go.' }).expect(200);
    await client.delete(of(tagged)).expect(204);

    const [corrected, removed, ...more] = await eventsOf(tagged);
    const recording = {
      ...CORRECTED_EVENT.recording,
      id: tagged,
      duration: 2.5,
      identity: null,
      custom_tags: JSON.parse(tags) as object,
    };
    expect(corrected).toStrictEqual({ ...CORRECTED_EVENT, recording, transcription: { version: 'corrected' } });
    expect(removed).toStrictEqual({ ...CORRECTED_EVENT, recording, transcription: { version: 'original' } });
    expect(more).toEqual([]);
    expect(Object.keys(corrected ?? {})).toEqual(['event', 'timestamp', 'recording', 'transcription']);
    expect(JSON.stringify(corrected)).not.toContain('Go.');
  });

  it('is not possible before there is a transcription (D26), and not for the recording of another account', async () => {
    const [processing, failed] = [await upload(client), await upload(client)];
    await fail(api, failed, 'No audio');
    for (const ask of [() => client.put(of(processing), { text: 'x' }), () => client.delete(of(processing))]) {
      expect((await ask().expect(404)).body.error.code).toBe('TRANSCRIPTION_NOT_READY');
    }
    const { body } = await client.put(of(failed), { text: 'x' }).expect(404);
    expect(body.error).toMatchObject({ code: 'TRANSCRIPTION_FAILED', details: { reason: 'No audio' } });
    const stranger = await api.account();
    expectError(await stranger.put(of(id), { text: 'x' }), 'NotFoundError');
    expect(await textOf(of(id))).toBe('go forward ten meters');
  });

  it('refuses what breaks a rule, naming the field, and keeps nothing of it', async () => {
    const word = (fields: object) => ({ words: [{ word: 'a', start: 0, end: 1, ...fields }] });
    const at = (...starts: number[]) => ({ words: starts.map((start) => ({ word: 'a', start, end: start + 1 })) });
    await checkRows<[body: object, field: string, reason: RegExp]>(
      [
        [{}, 'text', /required/],
        [{ text: 'a', words: [] }, 'words', /together/],
        [{ text: 'a'.repeat(200_001) }, 'text', /200,000 characters; this has 200001/],
        [{ words: { 0: 'a' } }, 'words', /list/],
        [{ words: '[{' }, 'words', /list/],
        [{ words: [{ word: 'a', end: 1 }] }, 'words', /words\[0\]\.start/],
        [word({ start: 2 }), 'words', /\.end/],
        [at(1, 0), 'words', /words\[1\]\.start/],
        [at(0, 86_000), 'words', /words\[1\]\.end must not be after the end of the recording, at 2 s/],
        [word({ word: ' ' }), 'words', /\.word/],
        [word({ start: '0' }), 'words', /\.start/],
        [word({ confidence: 2 }), 'words', /\.confidence/],
        [word({ x: 1 }), 'words', /no fields but/],
      ],
      async (body, field, reason) => expectInvalid(await client.put(of(id), body), field, reason),
    );
    expect(await rowsOf(id)).toEqual([{ revision: 1, corrected_text: null }]);
  });

  it('takes the words of two hours, and a body of 2 MB at most, which no other operation takes', async () => {
    id = await transcribed(client, 7_200_000);
    const words = Array.from({ length: 20_000 }, (_, i) => ({
      word: `word${i % 997}`,
      start: Number((i * 0.36).toFixed(2)),
      end: Number((i * 0.36 + 0.3).toFixed(2)),
      confidence: 0.9123,
    }));
    const { body } = await client.put(of(id), { words }).expect(200);
    expect(JSON.parse(body.words)).toHaveLength(20_000);
    await client.put(of(id), { text: `${body.text.slice(0, -3)} changed` }).expect(200);

    // More different terms than a tsvector holds, in one run without spaces.
    let seed = 1;
    const random = (): number => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) >>> 8;
    const han = Array.from({ length: 80_000 }, () => String.fromCodePoint(0x4e00 + (random() % 20_000)));
    await client.put(of(id), { text: han.join('') }).expect(200);

    const tooLarge = await client.put(of(id), { text: 'é'.repeat(1_100_000) });
    expectError(tooLarge, 'PayloadTooLargeError', { max_bytes: 2_097_152 });
    const key = await client.post('/v1/account/api-keys', { name: 'x'.repeat(200_000) });
    expectError(key, 'PayloadTooLargeError', { max_bytes: 102_400 });
  });

  it('goes with its recording, and leaves nothing when the recording is deleted meanwhile (D24)', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, () => transcribed()));
    const answers = await Promise.all(
      ids.flatMap((each) => [
        client.put(of(each), { text: 'Secret text.' }),
        client.delete(`/v1/recordings/${each}`),
        client.put(of(each), { text: 'Another text.' }),
        client.delete(of(each)),
      ]),
    );
    expect(answers.filter(({ status }) => ![200, 204, 404].includes(status))).toEqual([]);
    for (const each of ids) {
      expect([await rowsOf(each), await searchedOf(each)]).toEqual([[], undefined]);
      expectError(await client.put(of(each), { text: 'x' }), 'NotFoundError');
    }
    const kept = await api.database.query(`SELECT id FROM events WHERE body LIKE '%text.%'`);
    expect(kept).toEqual([]);
  });
});

const recordingOf = (id: string): string => `/v1/recordings/${id}`;
const FIRST: TranscriptOptions = { text: 'go forward ten meters', model: 'old-model', durationMs: 1000 };
const SECOND: TranscriptOptions = { text: 'Go forward ten metres.', model: 'new-model', durationMs: 1200 };

interface Event {
  event: string;
  recording: { id: string; status: string };
  error?: { code: string; message: string };
}

describe('transcribing again (D49)', () => {
  let id: string;

  beforeEach(async () => {
    id = await transcribed();
  });

  async function transcribed(by = client): Promise<string> {
    const recordingId = await upload(by);
    await transcribe(api, recordingId, FIRST);
    return recordingId;
  }

  const again = (recordingId = id, body: object = {}) => client.post(`${recordingOf(recordingId)}/transcribe`, body);
  const versionsOf = async (recordingId = id) =>
    (await client.get(`${recordingOf(recordingId)}/transcriptions`).expect(200)).body;
  const textOf = async (recordingId = id): Promise<string> =>
    (await client.get(`${recordingOf(recordingId)}/transcription`).expect(200)).body.text;
  const found = async (q: string): Promise<string[]> =>
    (await client.get(`/v1/recordings?q=${q}`).expect(200)).body.recordings.map((each: { id: string }) => each.id);
  const eventsOf = async (recordingId = id): Promise<Event[]> => {
    const rows = await api.database.query<{ body: string }>(
      `SELECT body FROM events WHERE recording_id = $1 AND kind IN ('recording.transcribed', 'recording.failed')
       ORDER BY run`,
      [recordingId],
    );
    return rows.map(({ body }) => JSON.parse(body) as Event);
  };
  const queuedSeconds = async (by = client): Promise<number> =>
    (await by.get('/v1/account/quotas').expect(200)).body.quotas.find(
      ({ quota }: { quota: string }) => quota === 'queued_audio_seconds',
    ).used as number;
  const rowOf = async (recordingId = id) => {
    const [row] = await api.database.query<Record<string, unknown>>(
      `SELECT status, run, attempt, rerun, requested_engine, language, lease_token FROM recordings WHERE id = $1`,
      [recordingId],
    );
    return row;
  };

  it('serves, searches and exports the present text until the new one is there, then that', async () => {
    const before = await client.get(`${recordingOf(id)}/transcription`).expect(200);
    const { body: listed } = await client.get('/v1/recordings?status=transcribed').expect(200);
    const answer = await again().expect(202);
    expect(answer.body).toStrictEqual({ ...SINGLE_RECORDING, id, status: 'transcribed' });
    expectHeaders(answer);

    const lease = await claimRecording(api, id);
    const meanwhile = await client.get(`${recordingOf(id)}/transcription`).expect(200);
    expect([meanwhile.body, meanwhile.headers.etag]).toEqual([before.body, before.headers.etag]);
    const srt = client.get(`${recordingOf(id)}/transcription?format=srt`).buffer(true);
    expect((await srt.expect(200)).text).toContain('go forward');
    expect(await found('meters')).toContain(id);
    expect((await client.get(recordingOf(id)).expect(200)).body.status).toBe('transcribed');
    expect((await client.get('/v1/recordings?status=transcribed').expect(200)).body.total).toBe(listed.total);
    await api.app.get(RecordingLeasesService).release(lease as NonNullable<typeof lease>);

    await transcribe(api, id, SECOND);
    const after = await client.get(`${recordingOf(id)}/transcription`).expect(200);
    expect(after.body).toMatchObject({ text: SECOND.text, model: 'new-model', recording_id: id });
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect([await found('metres'), await found('meters')]).toEqual([[id], expect.not.arrayContaining([id])]);
    const { body: recording } = await client.get(recordingOf(id)).expect(200);
    expect(recording).toMatchObject({ status: 'transcribed', duration_seconds: 1.2 });
    expect((await client.get('/v1/recordings?status=transcribed').expect(200)).body.total).toBe(listed.total);
  });

  it('lists the versions with engine, model and time, the served one first, and the one that is to come', async () => {
    const first = await versionsOf();
    expect(first).toMatchObject({ total: 1, page_size: 1, pending: null, next_page_uri: null });
    expect(first.transcriptions).toStrictEqual([{ ...TRANSCRIPTION_VERSION, is_served: true, text: FIRST.text }]);

    const engine = 'pocketsphinx';
    await again(id, { engine }).expect(202);
    expect((await versionsOf()).pending).toEqual({ engine, requested_at: expect.any(String) });
    await transcribe(api, id, SECOND);
    const both = await versionsOf();
    expect(both).toMatchObject({ total: 2, pending: null });
    expect(both.transcriptions).toMatchObject([
      { text: SECOND.text, model: 'new-model', is_served: true },
      { text: FIRST.text, model: 'old-model', is_served: false, id: first.transcriptions[0].id },
    ]);
    const { body: page } = await client.get(`${recordingOf(id)}/transcriptions?page=1&limit=1`).expect(200);
    expect(page).toMatchObject({ total: 2, page_size: 1, previous_page_uri: expect.stringContaining('page=0') });
    expect(page.transcriptions[0].model).toBe('old-model');

    const processing = await upload(client);
    expect(await versionsOf(processing)).toMatchObject({ total: 0, transcriptions: [], pending: null });
  });

  it('keeps the last five versions, and none when the recording is deleted', async () => {
    for (let i = 2; i <= 7; i++) {
      await again().expect(202);
      await transcribe(api, id, { ...SECOND, model: `model-${i}` });
    }
    const { transcriptions, total } = await versionsOf();
    expect(transcriptions.map(({ model }: { model: string }) => model)).toEqual([
      'model-7',
      'model-6',
      'model-5',
      'model-4',
      'model-3',
    ]);
    expect(total).toBe(5);
    await client.delete(recordingOf(id)).expect(204);
    const left = await api.database.query('SELECT FROM earlier_transcriptions WHERE recording_id = $1', [id]);
    expect(left).toEqual([]);
    expectError(await client.get(`${recordingOf(id)}/transcriptions`), 'NotFoundError');
  });

  it('is announced by a new event, whose run is the next', async () => {
    await again().expect(202);
    expect(await eventsOf()).toHaveLength(1);
    await transcribe(api, id, SECOND);
    await again().expect(202);
    await fail(api, id, 'The engine is out of words');
    const events = await eventsOf();
    expect(events.map(({ event }) => event)).toEqual([
      'recording.transcribed',
      'recording.transcribed',
      'recording.failed',
    ]);
    expect(events[2]?.error).toEqual({
      code: 'TRANSCRIPTION_FAILED',
      message: 'Transcribing again failed, and the present text stays: The engine is out of words',
    });
    expect(await rowOf()).toMatchObject({ run: 3, rerun: null, lease_token: null });
  });

  it('that fails leaves the recording and its text as they are', async () => {
    const [{ body: recording }, { body: text }] = [
      await client.get(recordingOf(id)),
      await client.get(`${recordingOf(id)}/transcription`),
    ];
    const retranscriptions = api.app.get(RetranscriptionsService);
    const ofOperator = {
      accountId: client.accountId,
      modelNot: 'newer',
      since: '2026-01-01',
      rate: null,
      quiet: false,
    };
    expect(await retranscriptions.begin(ofOperator)).toHaveLength(1);
    await again().expect(202);
    await fail(api, id);
    // That one was not the operator's.
    expect(await retranscriptions.progress(client.accountId)).toMatchObject([{ failed: 0 }]);
    expect((await client.get(recordingOf(id)).expect(200)).body).toEqual(recording);
    expect([await queuedSeconds(), await selectDifferences(api.database, client.accountId)]).toEqual([0, []]);
    expect((await client.get(`${recordingOf(id)}/transcription`).expect(200)).body).toEqual(text);
    expect(await versionsOf()).toMatchObject({ total: 1, pending: null });
    expect(await found('meters')).toContain(id);
    await again().expect(202);
  });

  it('leaves a correction in front, also one made meanwhile, and its removal shows the new text', async () => {
    const other = await transcribed();
    await client.put(`${recordingOf(id)}/transcription`, { text: 'Corrected before.' }).expect(200);
    await again().expect(202);
    await again(other).expect(202);
    await client.put(`${recordingOf(other)}/transcription`, { text: 'Corrected meanwhile.' }).expect(200);
    const { headers } = await client.get(`${recordingOf(id)}/transcription`).expect(200);
    for (const [each, corrected] of [
      [id, 'Corrected before.'],
      [other, 'Corrected meanwhile.'],
    ] as const) {
      await transcribe(api, each, SECOND);
      expect(await textOf(each)).toBe(corrected);
      const { body: original } = await client.get(`${recordingOf(each)}/transcription?version=original`).expect(200);
      expect(original).toMatchObject({ text: SECOND.text, model: 'new-model' });
      expect((await versionsOf(each)).transcriptions).toMatchObject([
        { text: SECOND.text, corrected_text: corrected, is_served: true },
        { text: FIRST.text, corrected_text: null, is_served: false },
      ]);
    }
    expect((await found('corrected')).toSorted()).toEqual([id, other].toSorted());
    expect(await found('metres')).toEqual([]);
    expectError(
      await client.put(`${recordingOf(id)}/transcription`, { text: 'x' }).set('If-Match', headers.etag as string),
      'PreconditionFailedError',
      { etag: expect.any(String) },
    );
    await client.delete(`${recordingOf(id)}/transcription`).expect(204);
    expect([await textOf(), await found('metres')]).toEqual([SECOND.text, [id]]);
  });

  it('takes a failed recording back to processing, with the engine and language that are asked for', async () => {
    const failed = await upload(client, { language: 'german' });
    await fail(api, failed, 'Language not supported: german.');
    const { body } = await again(failed, { language: 'English' }).expect(202);
    expect(body).toMatchObject({ status: 'processing', processed_at: null, features: null });
    expect(await rowOf(failed)).toMatchObject({ run: 2, rerun: null, language: 'english', requested_engine: null });
    expectError(await again(failed), 'ConflictError');
    await transcribe(api, failed, SECOND);
    expect(await textOf(failed)).toBe(SECOND.text);
    expect((await eventsOf(failed)).map(({ event }) => event)).toEqual(['recording.failed', 'recording.transcribed']);
  });

  it('is refused while it is pending, and of ten clicks at once one is taken', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => again()));
    expect(statusesOf(answers)).toEqual([202, ...Array<number>(9).fill(409)]);
    await claimRecording(api, id);
    expectError(await again(), 'ConflictError');
    expectError(await again(await upload(client)), 'ConflictError');
    await api.database.query('UPDATE recordings SET lease_until = now() WHERE id = $1', [id]);
    await transcribe(api, id, SECOND);
    await again().expect(202);
  });

  it('refuses what breaks a rule, naming the field', async () => {
    await checkRows<[body: object, field: string, reason: RegExp]>(
      [
        [{ engine: 'parrot' }, 'engine', /must be the name of an engine: \w+/],
        [{ engine: 7 }, 'engine', /must be text/],
        [{ language: 'en' }, 'language', /not a code: english/],
        [{ language: 'elvish' }, 'language', /English name of a language/],
        [{ languages: 'english' }, 'languages', /must be a list of 1 to 5 language names/],
        [{ languages: ['en'] }, 'languages', /item 1 must be a language name, not a code: english/],
        [{ vocabulary: 'Grafana' }, 'vocabulary', /must be a list/],
        [{ vocabulary: ['x'.repeat(65)] }, 'vocabulary', /term 1 must be at most 64/],
      ],
      async (body, field, reason) => expectInvalid(await again(id, body), field, reason),
    );
    expect(await rowOf()).toMatchObject({ rerun: null });
  });

  it('keeps the vocabulary of the upload unless it has another, and takes no engine that the account has not', async () => {
    const termsOf = async () => (await api.database.query('SELECT vocabulary FROM recordings WHERE id = $1', [id]))[0];
    await again(id, { vocabulary: ['Grafana', 'grafana', ' Zoë '] }).expect(202);
    expect(await termsOf()).toEqual({ vocabulary: ['Grafana', 'Zoë'] });
    await transcribe(api, id, SECOND);
    await again().expect(202);
    expect(await termsOf()).toEqual({ vocabulary: ['Grafana', 'Zoë'] });
    await transcribe(api, id, SECOND);
    await again(id, { vocabulary: [] }).expect(202);
    expect(await termsOf()).toEqual({ vocabulary: null });
    await transcribe(api, id, SECOND);

    await api.database.query(`UPDATE accounts SET engines = '[{"name":"own"}]' WHERE id = $1`, [client.accountId]);
    expectInvalid(await again(id, { engine: 'pocketsphinx' }), 'engine', /must be the name of an engine: own$/);
    await again(id, { engine: 'own' }).expect(202);
    expect(await rowOf()).toMatchObject({ requested_engine: 'own' });
  });

  it('lets clients name no engine, unless the operator opens some; a name that is no engine stops the start', async () => {
    const closed = await startService(api.environment, { ROLES: 'api' });
    const refused = await request(closed.url)
      .post(`${recordingOf(id)}/transcribe`)
      .set(client.headers)
      .send({ engine: 'pocketsphinx' });
    expectInvalid(refused, 'engine', /must be left out/);
    await closed.close();
    const wrong = startService(api.environment, { ROLES: 'api', CLIENT_ENGINES: 'parrot' });
    await expect(wrong).rejects.toThrow(
      /CLIENT_ENGINES names parrot, and the engines configured here are .*pocketsphinx/,
    );
  });

  it('waits in the queue of the account, within its quota, and is audio of the month', async () => {
    const owner = await api.account();
    const [note, other] = [await transcribed(owner), await transcribed(owner)];
    await api.app.get(AccountService).update(owner.accountId, { quotas: { queuedAudioSeconds: 1 } });
    const usage = async () => (await owner.get('/v1/account').expect(200)).body.usage.current_month;
    const before = await usage();
    await owner.post(`${recordingOf(note)}/transcribe`, {}).expect(202);
    const after = { ...before, total_duration_seconds: before.total_duration_seconds + 1 };
    expect([await queuedSeconds(owner), await usage()]).toEqual([1, after]);
    const differences = () => selectDifferences(api.database, owner.accountId);
    expect(await differences()).toEqual([]);
    const refused = await owner.post(`${recordingOf(other)}/transcribe`, {});
    expectError(refused, 'QuotaExceededError', expect.objectContaining({ quota: 'queued_audio_seconds' }));
    await transcribe(api, note, { ...SECOND, durationMs: 900 });
    expect(await queuedSeconds(owner)).toBe(0);
    await owner.post(`${recordingOf(note)}/transcribe`, {}).expect(202);
    expect(await queuedSeconds(owner)).toBe(0.9);
    await owner.delete(recordingOf(note)).expect(204);
    expect([await queuedSeconds(owner), await differences()]).toEqual([0, []]);
  });

  it('is refused once the audio of the month is used up, by any number of runs, while a failed one is not', async () => {
    const owner = await api.account();
    const [note, failed] = [await transcribed(owner), await upload(owner)];
    await fail(api, failed);
    await api.app.get(AccountService).update(owner.accountId, { quotas: { audioSecondsPerMonth: 3 } });
    await owner.post(`${recordingOf(note)}/transcribe`, {}).expect(202);
    await transcribe(api, note, FIRST);
    const refused = await owner.post(`${recordingOf(note)}/transcribe`, {});
    expectError(refused, 'QuotaExceededError', expect.objectContaining({ quota: 'audio_seconds_per_month' }));
    expect(await rowOf(note)).toMatchObject({ rerun: null });
    await owner.post(`${recordingOf(failed)}/transcribe`, {}).expect(202);
  });

  it('ends without a trace when the recording is deleted meanwhile (D24)', async () => {
    await again().expect(202);
    const lease = await claimRecording(api, id);
    await client.delete(recordingOf(id)).expect(204);
    const outcome = { status: 'failed', reason: 'late' } as const;
    expect(await api.app.get(RecordingLeasesService).finish(lease as NonNullable<typeof lease>, outcome)).toBe(false);
    expect(await eventsOf()).toHaveLength(1);
    expect(await api.database.query('SELECT FROM search_documents WHERE recording_id = $1', [id])).toEqual([]);
  });

  it('is given up after twenty attempts, and the text stays', async () => {
    await again().expect(202);
    await api.database.query(
      `UPDATE recordings SET attempt = 20, lease_token = gen_random_uuid(), lease_until = now() - interval '1 s'
       WHERE id = $1`,
      [id],
    );
    await api.app.get(RecordingLeasesService).failExhausted();
    expect(await rowOf()).toMatchObject({ status: 'transcribed', rerun: null, run: 2 });
    expect(await textOf()).toBe(FIRST.text);
  });

  it('cannot lose a lease to an outcome of a worker before (the table refuses it)', async () => {
    const held = api.database.query('UPDATE recordings SET lease_token = gen_random_uuid() WHERE id = $1', [id]);
    await expect(held).rejects.toThrow(/recordings_state_check/);
  });
});

function pick(object: Record<string, unknown>, keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}
