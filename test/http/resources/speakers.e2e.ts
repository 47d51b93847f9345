import type { TranscriptionWord } from '../../../src/modules/transcriptions/corrected-words.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectInvalid, statusesOf } from '../../support/http/expect-errors.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const api = useService({ ROLES: 'api' });
let client: ApiClient;
let id: string;

/** Two people, the second of whom has two labels. */
const SAID: [word: string, start: number, speaker: string][] = [
  ['good', 0, 'A'],
  ['morning', 0.4, 'A'],
  ['hello', 1.2, 'B'],
  ['how', 3, 'A'],
  ['are', 3.2, 'A'],
  ['you', 3.4, 'A'],
  ['fine', 6, 'C'],
];
const WORDS = SAID.map(([word, start, speaker]) => ({ word, start, end: start + 0.2, confidence: 0.9, speaker }));
const TALK = { text: 'Good morning. Hello! How are you? Fine.', durationMs: 7000, words: WORDS };

const recording = (of = id): string => `/v1/recordings/${of}`;
const speakers = (of = id): string => `${recording(of)}/speakers`;
const named = (names: Record<string, string | null>) => ({
  speakers: Object.entries(names).map(([speaker, name]) => ({ speaker, name })),
});
const namesOf = (body: { speakers: { speaker: string; name: string | null }[] }) =>
  Object.fromEntries(body.speakers.map(({ speaker, name }) => [speaker, name]));

async function exported(format: string, query = ''): Promise<string> {
  const answer = await client.get(`${recording()}/transcription?format=${format}${query}`).buffer(true).expect(200);
  return Buffer.isBuffer(answer.body) ? answer.body.toString() : answer.text;
}

async function found(q: string): Promise<string[]> {
  const { body } = await client.get(`/v1/recordings?q=${encodeURIComponent(q)}`).expect(200);
  return (body as { recordings: { id: string }[] }).recordings.map((item) => item.id);
}

beforeEach(async () => {
  client = await api.account();
  id = await upload(client);
  await transcribe(api, id, TALK);
});

describe('the speakers of a recording (D87)', () => {
  it('are those of its words, with how much they say, and their names', async () => {
    const before = await client.get(speakers()).expect(200);
    expect(before.body).toStrictEqual({
      recording_id: id,
      speakers: [
        { speaker: 'A', name: null, words: 5, seconds: 1.2 },
        { speaker: 'B', name: null, words: 1, seconds: 0.2 },
        { speaker: 'C', name: null, words: 1, seconds: 0.2 },
      ],
      uri: speakers(),
    });
    const after = await client.put(speakers(), named({ A: 'Ada', B: 'Grace', C: null })).expect(200);
    expect(namesOf(after.body)).toEqual({ A: 'Ada', B: 'Grace', C: null });
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect((await client.get(speakers()).expect(200)).headers.etag).toBe(after.headers.etag);
    await client.get(speakers()).set('If-None-Match', after.headers.etag!).expect(304);
    await client.get(speakers()).set('If-None-Match', before.headers.etag!).expect(200);
    const { body: others } = await client.put(speakers(), named({ B: 'Grace' })).expect(200);
    expect(namesOf(others)).toEqual({ A: null, B: 'Grace', C: null });
    expect(namesOf((await client.put(speakers(), named({})).expect(200)).body)).toEqual({ A: null, B: null, C: null });
  });

  it('are none where they were not told apart, and without a transcription as it', async () => {
    const other = await upload(client);
    const expectNone = async (code: string): Promise<void> => {
      for (const answer of [await client.get(speakers(other)), await client.put(speakers(other), named({}))]) {
        expect([answer.status, answer.body.error.code]).toEqual([404, code]);
      }
    };
    await expectNone('TRANSCRIPTION_NOT_READY');
    await fail(api, other);
    await expectNone('TRANSCRIPTION_FAILED');
    await client.post(`${recording(other)}/retry`).expect(202);
    await transcribe(api, other);
    expect((await client.get(speakers(other)).expect(200)).body.speakers).toEqual([]);
    await client.put(speakers(other), named({})).expect(200);
    expectInvalid(await client.put(speakers(other), named({ A: 'Ada' })), 'speakers', /recording: it has none$/);
    const stranger = await api.account();
    expectError(await stranger.get(speakers()), 'NotFoundError');
    expectError(await stranger.put(speakers(), named({ A: 'Eve' })), 'NotFoundError');
  });

  it('are refused by item and rule', () =>
    checkRows<[body: object, field: string, reason: RegExp]>(
      [
        [{}, 'speakers', /^is required$/],
        [{ speakers: 'Ada' }, 'speakers', /must be a list/],
        [{ speakers: [null] }, 'speakers', /speakers\[0\] must be an object$/],
        [{ speakers: [{ speaker: 'A' }] }, 'speakers', /speakers\[0\]\.name is required$/],
        [{ speakers: [{ speaker: 'a', name: 'Ada' }] }, 'speakers', /speakers\[0\]\.speaker must be a label/],
        [{ speakers: [{ speaker: 'A', name: 'Ada', words: 3 }] }, 'speakers', /no fields but speaker and name$/],
        [named({ A: '' }), 'speakers', /\.name must be text of 1 to 100 characters/],
        [named({ A: ' ' }), 'speakers', /\.name must not be blank/],
        [named({ A: 'x'.repeat(101) }), 'speakers', /this has 101/],
        [named({ A: 'A\nda' }), 'speakers', /control characters/],
        [{ speakers: [...named({ A: 'Ada' }).speakers, ...named({ A: 'B' }).speakers] }, 'speakers', /name A twice/],
        [named({ A: 'Ada', D: 'Dee' }), 'speakers', /^names D, which is no speaker of this recording: use A, B or C$/],
        [{ ...named({}), names: {} }, 'names', /unknown|not/],
      ],
      async (body, field, reason) => expectInvalid(await client.put(speakers(), body), field, reason),
    ));

  it('are named by one of those who have read the same list', async () => {
    const { headers } = await client.get(speakers()).expect(200);
    const name = (who: string, etag = headers.etag!) => client.put(speakers(), named({ A: who })).set('If-Match', etag);
    const answers = await Promise.all(['Ada', 'Grace', 'Mary'].map((who) => name(who)));
    expect(statusesOf(answers)).toEqual([200, 412, 412]);
    const present = answers.find(({ status }) => status === 200)!.headers.etag!;
    expectError(await name('Edith'), 'PreconditionFailedError', { etag: present });
    await name('Edith', '*').expect(200);
    expectInvalid(await name('Edith', 'x'), 'If-Match');
    // A correction is another version, whose speakers may be others.
    const { headers: read } = await client.get(speakers()).expect(200);
    await client.put(`${recording()}/transcription`, { text: 'Good evening.' }).expect(200);
    expectError(await name('Joan', read.etag), 'PreconditionFailedError', { etag: expect.any(String) });
  });

  it('move the time of the recording, once, and are no event', async () => {
    const updatedAt = async (): Promise<string> =>
      JSON.stringify(await api.database.query('SELECT updated_at FROM recordings WHERE id = $1', [id]));
    const eventsOf = async () => (await client.get('/v1/events').expect(200)).body.events as { event: string }[];
    const [before, events] = [await updatedAt(), await eventsOf()];
    await client.put(speakers(), named({ A: 'Ada' })).expect(200);
    const after = await updatedAt();
    expect(after).not.toBe(before);
    await client.put(speakers(), named({ A: 'Ada', B: null })).expect(200);
    expect([await updatedAt(), await eventsOf()]).toEqual([after, events]);
  });
});

describe('forms that show names (D87)', () => {
  const NAMED = named({ A: 'Ada', B: 'Grace Hopper', C: 'Grace Hopper' });

  it('have them, and one person for one name', async () => {
    expect(await exported('text')).toBe('A: Good morning.\nB: Hello!\nA: How are you?\nC: Fine.');
    await client.put(speakers(), NAMED).expect(200);
    const turns = ['Ada: Good morning.', 'Grace Hopper: Hello!', 'Ada: How are you?', 'Grace Hopper: Fine.'];
    expect(await exported('text')).toBe(turns.join('\n'));
    expect(await exported('paragraphs')).toBe(turns.join('\n\n'));
    expect((await exported('srt')).split('\n').filter((line) => /^[A-Z]/.test(line))).toEqual(turns);
    expect(await exported('vtt')).toContain('\n<v Grace Hopper>Hello!\n');
    expect(await exported('rttm')).toBe(
      [
        ['0.000 0.600', 'Ada'],
        ['1.200 0.200', 'Grace_Hopper'],
        ['3.000 0.600', 'Ada'],
        ['6.000 0.200', 'Grace_Hopper'],
      ]
        .map(([times, name]) => `SPEAKER ${id} 1 ${times} <NA> <NA> ${name} <NA> <NA>\n`)
        .join(''),
    );
    await client.put(speakers(), named({ A: 'Ada', B: 'Ada', C: 'Ada' })).expect(200);
    expect(await exported('text')).toBe(TALK.text);
    const { body } = await client.get(`${recording()}/transcription`).expect(200);
    expect(JSON.parse(body.words as string)).toEqual(WORDS);
  });

  it('have other entity tags after a change of names, which a correction takes all the same', async () => {
    const tagOf = async (format: string): Promise<string> =>
      (await client.get(`${recording()}/transcription?format=${format}`).expect(200)).headers.etag!;
    const forms = ['text', 'srt', 'vtt', 'paragraphs', 'rttm'];
    const before = await Promise.all(forms.map(tagOf));
    const json = await tagOf('json');
    await client.put(speakers(), NAMED).expect(200);
    const after = await Promise.all(forms.map(tagOf));
    expect(new Set([...before, ...after]).size).toBe(10);
    expect(await tagOf('json')).toBe(json);
    const [form, stale] = [`${recording()}/transcription?format=srt`, before[1]!];
    await client.get(form).set('If-None-Match', stale).expect(200);
    await client.get(form).set('If-None-Match', after[1]!).expect(304);
    const correct = (tag: string) => client.put(`${recording()}/transcription`, { text: 'x' }).set('If-Match', tag);
    expectError(await correct(`W/${stale}`), 'PreconditionFailedError', { etag: json });
    expectError(await correct('"other.1.srt"'), 'PreconditionFailedError', { etag: json });
    await correct(stale).expect(200);
    expectError(await correct(after[1]!), 'PreconditionFailedError', { etag: expect.any(String) });
  });

  it('keep the speakers of a corrected text and of corrected words', async () => {
    await client.put(speakers(), NAMED).expect(200);
    const path = `${recording()}/transcription`;
    const speakersOf = (body: { words: string }) =>
      (JSON.parse(body.words) as TranscriptionWord[]).map(({ speaker }) => speaker).join('');
    const text = 'Good morning, dear. Hello! How are you all? Fine.';
    const corrected = await client.put(path, { text }).expect(200);
    expect(speakersOf(corrected.body)).toBe('AAABAAAAC');
    expect(await exported('text')).toBe(
      'Ada: Good morning, dear.\nGrace Hopper: Hello!\nAda: How are you all?\nGrace Hopper: Fine.',
    );
    const words = WORDS.map((word) => ({ ...word, speaker: 'B' }));
    expect(speakersOf((await client.put(path, { words }).expect(200)).body)).toBe('BBBBBBB');
    expect(namesOf((await client.get(speakers()).expect(200)).body)).toEqual({ B: 'Grace Hopper' });
    expect(await exported('text', '&version=original')).toMatch(/^Ada: Good morning\./);
    const wrong = await client.put(path, { words: [{ ...WORDS[0], speaker: 'Ada' }] });
    expectInvalid(wrong, 'words', /words\[0\]\.speaker must be a label/);
    await client.delete(path).expect(204);
    expect(namesOf((await client.get(speakers()).expect(200)).body).A).toBe('Ada');
  });
});

describe('a search (D87)', () => {
  it('finds the names whatever is rewritten meanwhile, and no longer when they are gone', async () => {
    await client.put(speakers(), named({ A: 'Ada Lovelace', B: 'Grace' })).expect(200);
    expect(await found('"ada lovelace" morning')).toEqual([id]);
    await client.patch(recording(), { title: 'Engines' }).expect(200);
    expect(await found('lovelace engines grace')).toEqual([id]);
    await client.put(`${recording()}/transcription`, { text: 'Good evening.' }).expect(200);
    expect(await found('lovelace evening')).toEqual([id]);
    await client.delete(`${recording()}/transcription`).expect(204);
    expect(await found('lovelace morning -evening')).toEqual([id]);
    await client.post(`${recording()}/transcribe`, {}).expect(202);
    await transcribe(api, id, { ...TALK, text: 'Good afternoon.' });
    expect(await found('lovelace afternoon')).toEqual([id]);
    await client.put(speakers(), named({ A: 'Mary' })).expect(200);
    expect([await found('lovelace'), await found('mary engines afternoon')]).toEqual([[], [id]]);
    await client.delete(recording()).expect(204);
    expect(await found('mary')).toEqual([]);
  });
});
