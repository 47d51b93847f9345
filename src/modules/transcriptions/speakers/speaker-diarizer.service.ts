import { Injectable } from '@nestjs/common';
import { EngineUnavailableError } from '../engines/transcription-engine.js';
import type { DiarizeInput, SpeakerSegment } from './speaker-diarizer.js';

const NO_MODELS = 'No models for speakers are selected.';

/** Tells who speaks when in a whole recording. */
@Injectable()
export class SpeakerDiarizerService {
  /** For `features.speakers.model`; null without models. */
  readonly model: string | null = null;

  /** Null when it works; otherwise one sentence, for clients and operators: what is wrong. */
  async problem(): Promise<string | null> {
    return await Promise.resolve(NO_MODELS);
  }

  /**
   * @returns sorted by start, within the audio, without voices of a few hundred milliseconds
   * @throws EngineError. The signal's reason when it is aborted.
   */
  async diarize(input: DiarizeInput): Promise<SpeakerSegment[]> {
    input.signal.throwIfAborted();
    throw new EngineUnavailableError((await this.problem()) ?? NO_MODELS);
  }
}
