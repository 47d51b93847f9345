import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LiveRecordingsService } from '../../src/modules/live/live-recordings.service.js';
import type { LiveSignal } from '../../src/modules/live/live-signals.js';
import { LiveSignalsService } from '../../src/modules/live/live-signals.service.js';
import { DatabaseService } from '../../src/platform/database/database.service.js';
import { selectLiveWords } from '../../src/modules/live/words/live-words.queries.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { BEGUN, principalOf } from '../support/live/live-session.js';
import { writeStreamingTransducerModel } from '../support/models/streaming-tone-models.js';
import { tonesPcm } from '../support/models/tone-models.js';

const root = mkdtempSync(path.join(tmpdir(), 'live-words-streaming-'));
const PART_BYTES = 6400;

describe('words while one speaks, by a streaming model (D92)', () => {
  beforeAll(async () => {
    const folder = await writeStreamingTransducerModel(path.join(root, 'tones'));
    await writeFile(path.join(folder, 'model.json'), '{"languages":["german"]}');
  });
  const service = useService({
    ROLES: 'api,transcriber',
    MODELS_FOLDER: root,
    LIVE_MODEL: 'tones',
    // Tones are no speech to the other detector.
    SPEECH_DETECTOR: 'energy',
  });
  afterAll(() => rmSync(root, { recursive: true }));

  it('come in its language while audio comes, and are stored at the end of each utterance', async () => {
    const live = service.app.get(LiveRecordingsService);
    const { accountId } = await service.account();
    const { recordingId } = await live.begin(principalOf(accountId), { ...BEGUN, language: 'german' });
    const heard: LiveSignal[] = [];
    let subscribed = false;
    const unsubscribe = service.app.get(LiveSignalsService).onWords(recordingId, (signal) => {
      if (signal) heard.push(signal);
      else subscribed = true;
    });
    service.environment.defer(unsubscribe);
    await eventually(() => subscribed);

    let stored = 0;
    const append = async (bytes: Buffer): Promise<void> => {
      for (let at = 0; at < bytes.length; at += PART_BYTES) {
        stored = await live.append(recordingId, stored, bytes.subarray(at, at + PART_BYTES));
      }
    };
    const lead = 0.5;
    await append(tonesPcm(['▁go', '▁forward', '▁ten', '▁met', 'ers'], { lead }));
    // Nothing ends the utterance before these words are there.
    await eventually(() => textOf(heard) === 'go forward ten');
    await append(Buffer.concat([Buffer.alloc(32_000), tonesPcm(['▁stop'])]));
    await live.end(recordingId, 'finished');
    const { finals, problem } = await eventually(async () => {
      const read = await selectLiveWords(service.app.get(DatabaseService), recordingId, 0);
      return read.ended && read;
    });
    expect(problem).toBeNull();
    expect(finals.map(({ text }) => text)).toEqual(['go forward ten meters', 'stop']);
    expect(finals[0]?.words[0]?.start).toBeCloseTo(lead, 1);
    expect(finals[1]?.words[0]?.start).toBeGreaterThan(finals[0]?.end ?? Infinity);
  });
});

const textOf = (signals: readonly LiveSignal[]): string =>
  signals.flatMap((signal) => (signal.type === 'delta' ? signal.text : [])).join('');
