import { Injectable } from '@nestjs/common';
import { SignalsService, type Unsubscribe } from '../../platform/redis/signals.service.js';

/** Text of a transcription in progress, in the order of the recording. */
export interface ChunkSignal {
  type: 'chunk';
  /** Attempt of the transcription: another one starts again, and may have another text. So does another `provider`. */
  attempt: number;
  /** Length of the text before this one. */
  offset: number;
  /** As it stands in the whole text, with the space before it. */
  text: string;
  /** Provider and model of the engine. */
  provider: string;
  model: string;
}

/** The recording may have reached a terminal state, or is gone: its row says. */
interface EndSignal {
  type: 'end';
}

export type TranscriptSignal = ChunkSignal | EndSignal;

/** Tells other processes about the progress of transcriptions. Any signal may be lost. */
@Injectable()
export class TranscriptSignalsService {
  constructor(private readonly signals: SignalsService) {}

  publish(recordingId: string, signal: TranscriptSignal): void {
    void this.signals.publish(channelOf(recordingId), JSON.stringify(signal));
  }

  /** @param listener called with null when signals may have been missed. It must not throw. */
  subscribe(recordingId: string, listener: (signal: TranscriptSignal | null) => void): Unsubscribe {
    return this.signals.subscribe(channelOf(recordingId), (message) => {
      listener(message === null ? null : (JSON.parse(message) as TranscriptSignal));
    });
  }
}

const channelOf = (recordingId: string): string => `transcript:${recordingId}`;
