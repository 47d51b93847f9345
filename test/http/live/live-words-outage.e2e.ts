import { EngineUnavailableError } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { LiveRecordingsService } from '../../../src/modules/live/live-recordings.service.js';
import { LiveSignalsService } from '../../../src/modules/live/live-signals.service.js';
import type { LiveSignal } from '../../../src/modules/live/live-signals.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import { selectLiveWords } from '../../../src/modules/live/words/live-words.queries.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { BEGUN, principalOf, silence, spokenPcm } from '../../support/live/live-session.js';
import { engineExtension } from '../../support/service/test-engines.js';

const DOWN = 'The engine of this test is down.';
const state = { isDown: false, problem: null as string | null };
const engine = engineExtension('hosted', {
  problem: async () => state.problem,
  transcribe: async () => {
    if (state.isDown) throw new EngineUnavailableError(DOWN);
    return { text: 'guten morgen', confidence: 1, language: 'german', words: [] };
  },
});
const service = useService({ ROLES: 'api,transcriber', TRANSCRIPTION_ENGINE: 'hosted' }, { extensions: [engine] });

describe('words while one speaks, and an engine that is not always available', () => {
  let live: LiveRecordingsService;

  beforeAll(() => {
    live = service.app.get(LiveRecordingsService);
  });

  const begin = async () => {
    const { accountId } = await service.account();
    const { recordingId } = await live.begin(principalOf(accountId), { ...BEGUN, language: 'german' });
    const heard: LiveSignal[] = [];
    let isSubscribed = false;
    const unsubscribe = service.app.get(LiveSignalsService).onWords(recordingId, (signal) => {
      if (signal) heard.push(signal);
      isSubscribed = true;
    });
    service.environment.defer(unsubscribe);
    await eventually(() => isSubscribed);
    let stored = 0;
    /** @returns the text of the utterance */
    const say = async (item: number): Promise<string> => {
      stored = await live.append(recordingId, stored, Buffer.concat([await spokenPcm(), silence(1)]));
      return await eventually(
        () => heard.flatMap((one) => (one.type === 'final' && one.item === item ? one : []))[0],
      ).then(({ text }) => text);
    };
    return { recordingId, heard, say };
  };
  const problemsIn = (heard: LiveSignal[]) => heard.filter(({ type }) => type === 'problem');

  it('lack those of the utterances meanwhile, which is said once, and go on', async () => {
    const { recordingId, heard, say } = await begin();
    state.isDown = true;
    expect(await say(0)).toBe('');
    expect(problemsIn(heard)).toEqual([{ type: 'problem', message: 'The engine is not available now.' }]);
    state.isDown = false;
    expect(await say(1)).toBe('guten morgen');
    state.isDown = true;
    expect(await say(2)).toBe('');
    state.isDown = false;
    expect(await say(3)).toBe('guten morgen');
    expect(problemsIn(heard)).toHaveLength(1);
    await live.end(recordingId, 'finished');
    await eventually(() => heard.some(({ type }) => type === 'finished'));
    expect(await selectLiveWords(service.app.get(DatabaseService), recordingId, 4)).toEqual({
      finals: [],
      ended: true,
      problem: 'The engine is not available now.',
    });
  });

  it('begin as soon as it is available, and with the first word', async () => {
    state.problem = DOWN;
    const { heard, say } = await begin();
    await eventually(() => problemsIn(heard).length > 0);
    expect(heard).toEqual([{ type: 'problem', message: 'The engine is not available now.' }]);
    state.problem = null;
    expect(await say(0)).toBe('guten morgen');
    expect(problemsIn(heard)).toHaveLength(1);
  });

  it('end with the recording where none is available', async () => {
    state.problem = DOWN;
    const { recordingId, heard } = await begin();
    await eventually(() => problemsIn(heard).length > 0);
    await live.end(recordingId, 'finished');
    await eventually(() => heard.some(({ type }) => type === 'finished'));
    state.problem = null;
  });
});
