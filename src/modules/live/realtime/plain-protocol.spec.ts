import type { LiveRecording } from '../live-recordings.service.js';
import { PlainProtocol } from './plain-protocol.js';
import type { RecordingSettings } from './realtime-client.js';

const RECORDING = { recordingId: 'an-id', storedBytes: 7 } as LiveRecording;

describe('PlainProtocol', () => {
  let sent: object[];
  let audio: Buffer[];
  let finished: number;
  let refusals: number;
  let protocol: PlainProtocol;

  beforeEach(() => {
    [sent, audio, finished, refusals] = [[], [], 0, 0];
    const controls = {
      send: (message: object) => sent.push(message),
      addAudio: (bytes: Buffer) => audio.push(bytes),
      cut: () => undefined,
      finish: () => finished++,
      countRefusal: () => refusals++,
    };
    protocol = new PlainProtocol(controls, {} as RecordingSettings);
  });

  it('writes small messages', () => {
    protocol.opened(RECORDING, false);
    protocol.opened(RECORDING, true);
    protocol.stored({ bytes: 9, seconds: null });
    protocol.speechStarted(0, 0.5);
    protocol.delta(0, 'go');
    protocol.speechStopped(0, 1);
    protocol.final({ item: 0, text: 'go', start: 0.5, end: 1 });
    protocol.problem('No engine.');
    protocol.ended(RECORDING, 'finished');
    expect(sent).toEqual([
      { type: 'started', recording_id: 'an-id' },
      { type: 'resumed', recording_id: 'an-id', stored_bytes: 7 },
      { type: 'stored', bytes: 9, seconds: null },
      { type: 'speech_started', item: 0, at: 0.5 },
      { type: 'partial', item: 0, text: 'go' },
      { type: 'speech_stopped', item: 0, at: 1 },
      { type: 'final', item: 0, text: 'go', start: 0.5, end: 1 },
      { type: 'problem', message: 'No engine.' },
      { type: 'ended', reason: 'finished', recording_id: 'an-id' },
    ]);
  });

  it('takes audio and finish, and says what is wrong with everything else', () => {
    protocol.receive(Buffer.from('ab'), true);
    for (const text of ['{"type":"finish"}', '{', 'null', '{"type":"stop"}', '"finish"']) {
      protocol.receive(Buffer.from(text), false);
    }
    expect([audio, finished, refusals]).toEqual([[Buffer.from('ab')], 1, 4]);
    expect(sent).toEqual([
      { type: 'error', error: expect.objectContaining({ code: 2002 }) },
      ...Array.from({ length: 3 }, () => ({
        type: 'error',
        error: expect.objectContaining({ code: 2001, message: 'type must be finish.' }),
      })),
    ]);
  });
});
