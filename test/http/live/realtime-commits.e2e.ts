import { randomUUID } from 'node:crypto';
import { LiveRecordingsService } from '../../../src/modules/live/live-recordings.service.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import { selectLiveWords } from '../../../src/modules/live/words/live-words.queries.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { LiveClient } from '../../support/http/clients/live-client.js';
import { BEGUN, principalOf, SAID, silence, spokenPcm } from '../../support/live/live-session.js';

const COMMIT = { type: 'input_audio_buffer.commit' };
const COMMITTED = 'input_audio_buffer.committed';
const COMPLETED = 'conversation.item.input_audio_transcription.completed';
const DELTA = 'conversation.item.input_audio_transcription.delta';
/** 100 ms at 16 kHz. */
const PIECE_BYTES = 3200;

/** Makes no files: the words are looked at. */
const service = useService({ ROLES: 'api,transcriber' });
let owner: ApiClient;
let speech: Buffer;

beforeAll(async () => {
  owner = await service.account();
  speech = await spokenPcm();
});
afterEach(() => LiveClient.closeAll());

const open = (query = ''): Promise<LiveClient> =>
  LiveClient.open(service.url, `?intent=transcription${query}`, { headers: owner.headers });

function update(client: LiveClient, turnDetection: object | null, language = 'en'): void {
  const input = {
    format: { type: 'audio/pcm', rate: 16_000 },
    transcription: { language },
    turn_detection: turnDetection,
  };
  client.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
}

function append(client: LiveClient, ...audio: Buffer[]): void {
  const bytes = Buffer.concat(audio);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES).toString('base64');
    client.send({ type: 'input_audio_buffer.append', audio: piece });
  }
}

const times = (word: string, text: string): number => text.split(' ').filter((one) => one === word).length;
/** All that was said in increments. */
const deltasOf = (client: LiveClient): string =>
  client
    .all(DELTA)
    .map(({ delta }) => delta)
    .join('');
const completed = (client: LiveClient, count: number) =>
  eventually(() => client.all(COMPLETED).length >= count && client.all(COMPLETED));

/** All of a recording that has ended. */
const wordsOf = (recordingId: string) =>
  eventually(async () => {
    const read = await selectLiveWords(service.app.get(DatabaseService), recordingId, 0);
    return read.ended && read;
  });

describe('a client that ends utterances itself (D93)', () => {
  it('gets the text of all up to its commit as one item, also of nothing', async () => {
    const client = await open();
    update(client, null);
    append(client, speech, silence(1), speech, silence(0.5));
    await eventually(() => times('forward', deltasOf(client)) === 2);
    expect(client.all(COMMITTED)).toEqual([]);
    expect(client.all(COMPLETED)).toEqual([]);
    client.send(COMMIT);
    const [first] = await completed(client, 1);
    expect(first?.transcript).toBe(`${SAID} ${SAID}`);

    append(client, silence(0.2));
    client.send(COMMIT);
    const [, second] = await completed(client, 2);
    expect(second?.transcript).toBe('');

    append(client, speech);
    client.send(COMMIT);
    // What comes next is no part of it.
    append(client, speech, silence(0.3));
    const [, , third] = await completed(client, 3);
    expect(third?.transcript).toBe(SAID);
    client.send({ type: 'recording.finish' });
    const { recording_id: id } = await client.next('recording.ended');
    const all = await completed(client, 4);
    expect(all).toHaveLength(4);
    expect(all[3]?.transcript).toBe(SAID);
    const items = all.map(({ item_id: item }) => item);
    expect(items).toEqual([0, 1, 2, 3].map((item) => `item_${String(id).replaceAll('-', '')}_${item}`));
    const committed = client.all(COMMITTED);
    expect(committed.map(({ item_id: item }) => item)).toEqual(items);
    expect(committed.map(({ previous_item_id: item }) => item)).toEqual([null, ...items.slice(0, 3)]);
    expect(client.messages.filter(({ type }) => type.startsWith('input_audio_buffer.speech_'))).toEqual([]);
  });

  it('goes on so after its connection broke, until it has turns detected again', async () => {
    const broken = await open();
    update(broken, null);
    append(broken, speech, silence(1));
    const { recording_id: id } = await broken.next('recording.started');
    await eventually(() => deltasOf(broken).includes('forward'));
    broken.socket.terminate();
    const client = await open(`&recording=${String(id)}`);
    expect(await client.next('session.created')).toMatchObject({
      session: { audio: { input: { turn_detection: null } } },
    });
    append(client, silence(0.2));
    await client.next('recording.audio_stored');
    expect(client.all(COMPLETED)).toEqual([]);
    client.send({
      type: 'session.update',
      session: { type: 'transcription', audio: { input: { turn_detection: { type: 'server_vad' } } } },
    });
    const [first] = await completed(client, 1);
    expect(first?.transcript).toBe(SAID);
    append(client, speech, silence(1));
    const [, second] = await completed(client, 2);
    expect(second?.transcript).toBe(SAID);
    expect(client.all('input_audio_buffer.speech_started').at(-1)).toMatchObject({ item_id: second?.item_id });
  });

  it('is told that the item of its commit has failed where no words come', async () => {
    const client = await open();
    update(client, null, 'de');
    append(client, silence(0.2));
    client.send(COMMIT);
    const failed = await client.next('conversation.item.input_audio_transcription.failed');
    expect(failed).toMatchObject({ error: { message: expect.stringContaining('language') } });
    expect(client.all(COMMITTED)).toMatchObject([{ item_id: failed.item_id }]);
    append(client, silence(0.2));
    client.send(COMMIT);
    await client.next(
      'conversation.item.input_audio_transcription.failed',
      ({ item_id: item }) => item !== failed.item_id,
    );
    await client.next('recording.audio_stored', ({ bytes }) => bytes === 2 * silence(0.2).length);
  });

  it('gets each item once, also when a transcriber was lost behind a commit', async () => {
    const live = service.app.get(LiveRecordingsService);
    const { recordingId } = await live.begin(principalOf(owner.accountId), { ...BEGUN, cutsAtPauses: false });
    await service.database.query(
      `UPDATE live_recordings SET lease_token = $2, lease_until = now() + interval '1 second' WHERE recording_id = $1`,
      [recordingId, randomUUID()],
    );
    const first = Buffer.concat([speech, silence(1)]);
    const cut = first.length + 6;
    const commit = { isCommit: true, atPauses: false };
    await live.append(recordingId, 0, Buffer.concat([first, silence(1)]).subarray(0, cut));
    await live.cut(recordingId, { ...commit, byteOffset: cut });
    await service.database.query(
      `INSERT INTO live_words (recording_id, item, start_ms, end_ms, text, words) VALUES ($1, 0, 0, $2, 'before', '[]')`,
      [recordingId, Math.ceil(cut / 32)],
    );
    const end = await live.append(recordingId, cut, Buffer.concat([speech, silence(1)]));
    await live.cut(recordingId, { ...commit, byteOffset: end });
    await live.end(recordingId, 'finished');
    const { finals } = await wordsOf(recordingId);
    expect(finals.map(({ item, text }) => [item, text])).toEqual([
      [0, 'before'],
      [1, SAID],
    ]);
    expect(finals[1]?.end).toBe(Math.ceil(end / 32) / 1000);
  });

  it('may leave less behind a commit than can be decoded', async () => {
    const live = service.app.get(LiveRecordingsService);
    const begun = { ...BEGUN, audio: { format: 'pcm16', sampleRate: 24_000 }, cutsAtPauses: false } as const;
    const { recordingId } = await live.begin(principalOf(owner.accountId), begun);
    const committed = await live.append(recordingId, 0, silence(0.3));
    await live.cut(recordingId, { byteOffset: committed, isCommit: true, atPauses: false });
    await live.append(recordingId, committed, Buffer.alloc(6));
    await live.end(recordingId, 'finished');
    expect(await wordsOf(recordingId)).toMatchObject({ finals: [{ item: 0, text: '' }], problem: null });
  });
});
