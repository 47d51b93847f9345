import type { SignalListener, SignalsService } from '../../platform/redis/signals.service.js';
import { type TranscriptSignal, TranscriptSignalsService } from './transcript-signals.service.js';

const CHUNK: TranscriptSignal = { type: 'chunk', attempt: 1, offset: 0, text: 'a', provider: 'p', model: 'm' };

describe('TranscriptSignalsService', () => {
  it('brings the signals of a recording to those who listen to it, and says when some may have been missed', () => {
    const listeners = new Map<string, SignalListener>();
    const signals = new TranscriptSignalsService({
      publish: async (channel: string, message: string) => listeners.get(channel)?.(message),
      subscribe: (channel: string, listener: SignalListener) => {
        listeners.set(channel, listener);
        return () => listeners.delete(channel);
      },
    } as unknown as SignalsService);
    const heard: unknown[] = [];
    const end = signals.subscribe('one', (signal) => heard.push(signal));
    signals.publish('one', CHUNK);
    signals.publish('other', { type: 'end' });
    signals.publish('one', { type: 'end' });
    listeners.get('transcript:one')?.(null);
    expect(heard).toEqual([CHUNK, { type: 'end' }, null]);
    end();
    expect(listeners.size).toBe(0);
  });
});
