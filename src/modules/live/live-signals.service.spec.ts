import type { SignalListener, SignalsService } from '../../platform/redis/signals.service.js';
import type { LiveSignal, LiveWord } from './live-signals.js';
import { LiveSignalsService } from './live-signals.service.js';

const WORDS: LiveWord[] = [{ word: 'a', start: 0.5, end: 1 }];
const DELTA: LiveSignal = { type: 'delta', item: 0, offset: 0, text: 'a', words: WORDS };
const FINAL: LiveSignal = { type: 'final', item: 0, text: 'a', start: 0.5, end: 1 };

describe('LiveSignalsService', () => {
  it('keeps audio and words of a recording apart, and says when signals may have been missed', () => {
    const listeners = new Map<string, SignalListener>();
    const signals = new LiveSignalsService({
      publish: async (channel: string, message: string) => listeners.get(channel)?.(message),
      subscribe: (channel: string, listener: SignalListener) => {
        listeners.set(channel, listener);
        return () => listeners.delete(channel);
      },
    } as unknown as SignalsService);
    const audio: unknown[] = [];
    const words: unknown[] = [];
    const ends = [
      signals.onAudio('one', (signal) => audio.push(signal)),
      signals.onWords('one', (signal) => words.push(signal)),
    ];
    signals.publishAudio('one', 32_000);
    signals.publishAudio('one', 'end');
    signals.publishWords('one', DELTA);
    signals.publishWords('one', FINAL);
    signals.publishWords('other', { type: 'finished' });
    for (const listener of listeners.values()) listener(null);
    expect(audio).toEqual([32_000, 'end', null]);
    expect(words).toEqual([DELTA, FINAL, null]);
    for (const end of ends) end();
    expect(listeners.size).toBe(0);
  });
});
