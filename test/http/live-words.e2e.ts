import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LiveRecordingsService, type LiveAudioType } from '../../src/modules/live/live-recordings.service.js';
import type { LiveSignal } from '../../src/modules/live/live-signals.js';
import { LiveSignalsService } from '../../src/modules/live/live-signals.service.js';
import { DatabaseService } from '../../src/platform/database/database.service.js';
import { selectLiveWords } from '../../src/modules/live/words/live-words.queries.js';
import { LiveWordsWorkerService } from '../../src/modules/live/words/live-words-worker.service.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { SPEECH } from '../../src/testing/speech.js';
import { BEGUN, principalOf, SAID, silence, spokenPcm } from '../support/live/live-session.js';

/** Makes no files: the words are looked at when the audio has ended. */
const service = useService({ ROLES: 'api,transcriber', LIVE_SESSIONS: '2' });

const PART_BYTES = 6400;

describe('words while one speaks (D92)', () => {
  let live: LiveRecordingsService;
  let speech: Buffer;

  beforeAll(async () => {
    live = service.app.get(LiveRecordingsService);
    speech = await spokenPcm();
  });

  /** A live recording whose signals are kept. */
  const begin = async (audio: LiveAudioType = BEGUN.audio, language = 'english') => {
    const { accountId } = await service.account();
    const { recordingId } = await live.begin(principalOf(accountId), { ...BEGUN, audio, language });
    const heard: LiveSignal[] = [];
    let subscribed = false;
    const unsubscribe = service.app.get(LiveSignalsService).onWords(recordingId, (signal) => {
      if (signal) heard.push(signal);
      else subscribed = true;
    });
    service.environment.defer(unsubscribe);
    await eventually(() => subscribed);
    let stored = 0;
    const append = async (bytes: Buffer, partBytes = PART_BYTES): Promise<void> => {
      for (let at = 0; at < bytes.length; at += partBytes) {
        stored = await live.append(recordingId, stored, bytes.subarray(at, at + partBytes));
      }
    };
    const ended = async () => {
      await live.end(recordingId, 'finished');
      return await eventually(async () => {
        const read = await selectLiveWords(service.app.get(DatabaseService), recordingId, 0);
        return read.ended && read;
      });
    };
    return { recordingId, heard, append, ended };
  };

  it('come while audio comes; an utterance is final and stored after its pause', async () => {
    const { recordingId, heard, append, ended } = await begin();
    await append(Buffer.concat([silence(0.5), speech, silence(1)]));
    const final = await eventually(() => heard.find((signal) => signal.type === 'final'));
    expect(final).toMatchObject({ item: 0, text: SAID });
    const { finals } = await selectLiveWords(service.app.get(DatabaseService), recordingId, 0);
    expect(finals).toMatchObject([{ item: 0, text: SAID, start: final.start, end: final.end }]);
    expect(finals[0]?.words.map(({ word }) => word)).toEqual(SAID.split(' '));
    const deltas = heard.filter((signal) => signal.type === 'delta');
    let text = '';
    for (const delta of deltas) {
      expect(delta.offset).toBe(text.length);
      text += delta.text;
    }
    // The end of the utterance may make another word of one that was sent.
    expect(text).toMatch(/^go forward/);

    await append(Buffer.concat([speech, silence(0.1)]));
    const stored = await ended();
    expect(stored).toMatchObject({ finals: [{ item: 0 }, { item: 1 }], problem: null });
    const [, second] = stored.finals;
    for (const word of second?.words ?? []) {
      expect(word.start).toBeGreaterThanOrEqual(second?.start ?? Infinity);
      expect(word.end).toBeLessThanOrEqual((second?.end ?? 0) + 0.5);
    }
    expect(second?.words).not.toHaveLength(0);
    await eventually(() => heard.at(-1)?.type === 'finished');
    expect(heard.filter(({ type }) => type !== 'delta').map(({ type }) => type)).toEqual([
      ...['speech_started', 'speech_stopped', 'final', 'speech_started', 'speech_stopped', 'final', 'finished'],
    ]);
  });

  it('come from what a browser records, and from PCM at 24 kHz', async () => {
    const webm = await begin({ format: 'webm', sampleRate: null });
    await webm.append(await readFile(path.join(SPEECH, 'go-forward-ten-meters.webm')), 1000);
    const { finals } = await webm.ended();
    expect(finals.map(({ text }) => text)).toEqual([SAID]);

    const pcm = await begin({ format: 'pcm16', sampleRate: 24_000 });
    // Every second sample twice: three for two.
    const samples = new Int16Array(new Uint8Array(speech).buffer);
    const stretched = Int16Array.from({ length: Math.floor((samples.length * 3) / 2) }, (_, i) => {
      const at = (i * 2) / 3;
      const before = samples[Math.floor(at)] ?? 0;
      return before + ((samples[Math.ceil(at)] ?? before) - before) * (at % 1);
    });
    await pcm.append(Buffer.from(stretched.buffer));
    const [item] = (await pcm.ended()).finals;
    expect(item?.text).toBe(SAID);
    expect(item?.end).toBeLessThan(3.2);
  });

  it('go on after the last stored utterance when a transcriber was lost, and none comes twice', async () => {
    const { recordingId, append, ended } = await begin();
    await service.database.query(
      `UPDATE live_recordings SET lease_token = $2, lease_until = now() + interval '1 second' WHERE recording_id = $1`,
      [recordingId, randomUUID()],
    );
    await service.database.query(
      `INSERT INTO live_words (recording_id, item, start_ms, end_ms, text, words) VALUES ($1, 0, 0, 3000, 'before', '[]')`,
      [recordingId],
    );
    const first = Buffer.concat([speech, silence(1)]);
    await append(Buffer.concat([first, speech, silence(1)]));
    const { finals } = await ended();
    expect(finals.map(({ item, text }) => [item, text])).toEqual([
      [0, 'before'],
      [1, SAID],
    ]);
    expect(finals[1]?.start).toBeGreaterThanOrEqual(3);
    // The times are those of the recording.
    expect(finals[1]?.words[0]?.start).toBeGreaterThan(first.length / 32_000);
  });

  it('cannot be had in a language without an engine: that is said once, and the recording goes on', async () => {
    const { recordingId, heard, append } = await begin(BEGUN.audio, 'german');
    await eventually(() => heard.some(({ type }) => type === 'finished'));
    await append(silence(0.4));
    expect(heard).toEqual([{ type: 'problem', message: expect.stringContaining('language') }, { type: 'finished' }]);
    const { problem, ended } = await selectLiveWords(service.app.get(DatabaseService), recordingId, 0);
    expect({ problem, ended }).toEqual({ problem: expect.stringContaining('language'), ended: true });
  });

  it('wait for a session of the transcriber, which a deleted recording gives back', async () => {
    const worker = service.app.get(LiveWordsWorkerService);
    const sessions = [await begin(), await begin()];
    await eventually(() => worker.sessions === 2);
    const third = await begin();
    await third.append(Buffer.concat([speech, silence(1)]));
    expect(worker.sessions).toBe(2);
    await service.database.query('DELETE FROM recordings WHERE id = $1', [sessions[0]?.recordingId]);
    await eventually(() => third.heard.some(({ type }) => type === 'final'));
    await Promise.all([sessions[1]?.ended(), third.ended()]);
    await eventually(() => worker.sessions === 0);
  });
});
