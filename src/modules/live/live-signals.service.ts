import { Injectable } from '@nestjs/common';
import { SignalsService, type Unsubscribe } from '../../platform/redis/signals.service.js';
import type { LiveSignal } from './live-signals.js';

/** Bytes stored so far; `end` when no more will come. */
export type LiveAudioSignal = number | 'end';

/**
 * Tells other processes about the audio and the words of live recordings. Any signal may be lost: the rows in Postgres are
 * the record. Listeners are called with null when signals may have been missed, and must not throw.
 */
@Injectable()
export class LiveSignalsService {
  constructor(private readonly signals: SignalsService) {}

  publishAudio(recordingId: string, signal: LiveAudioSignal): void {
    void this.signals.publish(audioChannel(recordingId), String(signal));
  }

  onAudio(recordingId: string, listener: (signal: LiveAudioSignal | null) => void): Unsubscribe {
    return this.signals.subscribe(audioChannel(recordingId), (message) => {
      listener(message === null || message === 'end' ? message : Number(message));
    });
  }

  /** Wakes the deliverers, which make files of what has ended. */
  publishEnd(): void {
    void this.signals.publish(ENDS_CHANNEL, '');
  }

  onEnd(listener: () => void): Unsubscribe {
    return this.signals.subscribe(ENDS_CHANNEL, listener);
  }

  publishWords(recordingId: string, signal: LiveSignal): void {
    void this.signals.publish(wordsChannel(recordingId), JSON.stringify(signal));
  }

  onWords(recordingId: string, listener: (signal: LiveSignal | null) => void): Unsubscribe {
    return this.signals.subscribe(wordsChannel(recordingId), (message) => {
      listener(message === null ? null : (JSON.parse(message) as LiveSignal));
    });
  }
}

const ENDS_CHANNEL = 'live-ends';
const audioChannel = (recordingId: string): string => `live-audio:${recordingId}`;
const wordsChannel = (recordingId: string): string => `live-words:${recordingId}`;
