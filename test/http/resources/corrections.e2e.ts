import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { timedEngine } from '../../support/service/test-engines.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { expectError, expectHeaders, expectInvalid, statusesOf } from '../../support/http/expect-errors.js';
import { CORRECTED_EVENT, TRANSCRIPTION } from '../../support/http/response-shapes.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const of = (id: string): string => `/v1/recordings/${id}/transcription`;
const SPOKEN = [
  { word: 'go', start: 0.46, end: 0.63, confidence: 0.97 },
  { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
  { word: 'ten', start: 1.3, end: 1.5, confidence: 0.8 },
  { word: 'meters', start: 1.5, end: 2, confidence: 0.7 },
];

describe('a correction (D44)', () => {
  let client: ApiClient;
  let id: string;

  const service = useService({ ROLES: 'api' });

  beforeAll(async () => {
    client = await service.account();
  });

  beforeEach(async () => {
    id = await transcribed();
  });

  async function transcribed(by = client, durationMs = 2000): Promise<string> {
    const recordingId = await upload(by);
    await transcribe(service, recordingId, { text: 'go forward ten meters', words: SPOKEN, durationMs });
    return recordingId;
  }

  const textOf = async (path: string): Promise<string> => (await client.get(path).expect(200)).body.text;
  const searchedOf = async (recordingId: string): Promise<string | undefined> => {
    const [row] = await service.database.query<{ text: string }>(
      'SELECT text FROM search_documents WHERE recording_id = $1',
      [recordingId],
    );
    return row?.text;
  };
  const rowsOf = (recordingId: string) =>
    service.database.query('SELECT revision, corrected_text FROM transcriptions WHERE recording_id = $1', [
      recordingId,
    ]);
  const eventsOf = async (recordingId: string): Promise<Record<string, unknown>[]> => {
    const rows = await service.database.query<{ body: string }>(
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
    await transcribe(service, untimed, { text: 'go', words: [] });
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
    await transcribe(service, tagged, { text: 'go', durationMs: 2500 });
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
    await fail(service, failed, 'No audio');
    for (const ask of [() => client.put(of(processing), { text: 'x' }), () => client.delete(of(processing))]) {
      expect((await ask().expect(404)).body.error.code).toBe('TRANSCRIPTION_NOT_READY');
    }
    const { body } = await client.put(of(failed), { text: 'x' }).expect(404);
    expect(body.error).toMatchObject({ code: 'TRANSCRIPTION_FAILED', details: { reason: 'No audio' } });
    const stranger = await service.account();
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
    const kept = await service.database.query(`SELECT id FROM events WHERE body LIKE '%text.%'`);
    expect(kept).toEqual([]);
  });
});

describe('a webhook', () => {
  let receiver: WebhookReceiver;

  const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });
  const service = useService({ TRANSCRIPTION_ENGINE: 'timed' }, { extensions: [engine.extension] });

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
  });

  afterAll(async () => {
    await receiver.close();
  });

  it('that subscribes to transcription.corrected is told of corrections, and another is not (D44)', async () => {
    const client = await service.account();
    const subscribe = (path: string, events: string[]) =>
      client.post('/v1/webhooks', { url: receiver.url(path), events }).expect(201);
    await subscribe('/corrected', ['transcription.corrected']);
    await subscribe('/others', ['recording.transcribed', 'recording.failed']);
    const { body } = await client.upload(silenceWav(0.5)).expect(201);
    await client.finished(body.id as string);
    await client.put(of(body.id as string), { text: 'Go forward ten metres.' }).expect(200);

    const received = await eventually(() => receiver.requests.find(({ path }) => path === '/corrected'));
    expect(JSON.parse(received?.body.toString() ?? '')).toStrictEqual({
      ...CORRECTED_EVENT,
      recording: { ...CORRECTED_EVENT.recording, id: body.id },
    });
    await receiver.waitFor(() => receiver.requests.length === 2);
    const kinds = receiver.requests.map(({ path, body: sent }) => `${path} ${JSON.parse(sent.toString()).event}`);
    expect(new Set(kinds)).toEqual(new Set(['/corrected transcription.corrected', '/others recording.transcribed']));
  });
});

function pick(object: Record<string, unknown>, keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, object[key]]));
}
