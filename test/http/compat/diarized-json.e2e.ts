import OpenAI, { APIError, toFile } from 'openai';
import type { TranscriptionDiarized } from 'openai/resources/audio/transcriptions';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { transcribe, type TranscriptOptions } from '../../support/state/recording-states.js';

const api = useService({ ROLES: 'api' });
let owner: ApiClient;

beforeEach(async () => {
  owner = await api.account();
});

const SAID: [word: string, start: number, speaker: string][] = [
  ['good', 0, 'A'],
  ['morning', 0.4, 'A'],
  ['hello', 1.2, 'B'],
];
const TALK: TranscriptOptions = {
  text: 'Good morning. Hello!',
  durationMs: 1500,
  words: SAID.map(([word, start, speaker]) => ({ word, start, end: start + 0.2, confidence: 0.9, speaker })),
  features: { speakers: { count: 2, model: 'test' } },
};
const segment = (index: number, start: number, end: number, text: string, speaker: string) => ({
  type: 'transcript.text.segment',
  id: `seg_00${index}`,
  start,
  end,
  text,
  speaker,
});
const SEGMENTS = [segment(1, 0, 0.6, 'Good morning.', 'A'), segment(2, 1.2, 1.4, 'Hello!', 'B')];
const USAGE = { type: 'duration', seconds: 2 };

const transcriptions = () => {
  const { key, secret } = owner.credentials;
  return new OpenAI({ baseURL: `${api.url}/v1`, apiKey: `${key}.${secret}`, maxRetries: 0 }).audio.transcriptions;
};

const note = async () => ({ file: await toFile(silenceWav(0.1), 'call.wav'), model: 'gpt-4o-transcribe-diarize' });

/** The recording of a request that waits for it. */
async function uploaded(): Promise<{ id: string; speakers: number | null }> {
  return await eventually(async () => {
    const [row] = await api.database.query<{ id: string; speakers: number | null }>(
      `SELECT id, speakers FROM recordings WHERE account_id = $1 AND status = 'processing'`,
      [owner.accountId],
    );
    return row ?? null;
  });
}

/** What the official client gets for audio that is transcribed like this. */
async function answered(spoken: TranscriptOptions, options: object = {}): Promise<unknown> {
  const answer = transcriptions().create({ ...(await note()), response_format: 'diarized_json', ...options });
  const outcome = answer.then(
    (value) => value as unknown,
    (error: unknown) => error,
  );
  const { id } = await uploaded();
  await transcribe(api, id, spoken);
  return await outcome;
}

describe('diarized_json (D87)', () => {
  it('asks for speakers, and has who says what in the shape of OpenAI', async () => {
    const pending = transcriptions().create({
      ...(await note()),
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
    });
    const { id, speakers } = await uploaded();
    expect(speakers).toBe(0);
    await transcribe(api, id, TALK);
    const answer = (await pending) as unknown as TranscriptionDiarized;
    expect({ ...answer }).toStrictEqual({
      task: 'transcribe',
      duration: 1.5,
      text: 'Good morning. Hello!',
      segments: SEGMENTS,
      usage: USAGE,
    });
    expect(Object.keys(answer)).toEqual(['task', 'duration', 'text', 'segments', 'usage']);
  });

  it('has the names that the speakers were given meanwhile, in a repeated request', async () => {
    await answered(TALK);
    const { body } = await owner.get('/v1/recordings').expect(200);
    const names = { speakers: [{ speaker: 'B', name: 'Grace' }] };
    await owner.put(`/v1/recordings/${body.recordings[0].id}/speakers`, names).expect(200);
    const again = await transcriptions().create({ ...(await note()), response_format: 'diarized_json' });
    expect((again as unknown as TranscriptionDiarized).segments.map(({ speaker }) => speaker)).toEqual(['A', 'Grace']);
  });

  it('is streamed with an event for each segment, once the speakers are known', async () => {
    const pending = transcriptions().create({
      ...(await note()),
      response_format: 'diarized_json',
      stream: true,
    });
    await transcribe(api, (await uploaded()).id, TALK);
    const events: unknown[] = [];
    for await (const event of await pending) events.push(event);
    expect(events).toEqual([
      { type: 'transcript.text.delta', delta: 'Good morning. Hello!' },
      ...SEGMENTS,
      { type: 'transcript.text.done', text: 'Good morning. Hello!', usage: USAGE },
    ]);
  });

  it('of silence has no segments', async () => {
    expect(await answered({ text: '', noSpeech: true })).toMatchObject({ text: '', segments: [] });
  });

  it('is refused, with the reason, where speakers were not told apart; the text is there for other formats', async () => {
    const features = { speakers: null, speakers_problem: 'No model for speakers is installed.' };
    const error = await answered({ ...TALK, words: [], features });
    if (!(error instanceof APIError)) throw new Error('no error');
    expect([error.status, error.param, error.code]).toEqual([400, 'response_format', 'invalid_value']);
    expect(error.message).toContain('No model for speakers is installed.');
    const text = await transcriptions().create({ ...(await note()), response_format: 'text', ...{ speakers: 'auto' } });
    expect(text).toBe('Good morning. Hello!\n');
  });

  it('takes how many there are, and shows them as WebVTT too', async () => {
    const pending = transcriptions().create({ ...(await note()), response_format: 'vtt', ...{ speakers: '2' } });
    const { id, speakers } = await uploaded();
    expect(speakers).toBe(2);
    await transcribe(api, id, TALK);
    expect(await pending).toContain('\n<v B>Hello!\n');
  });
});
