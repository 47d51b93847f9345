import { Injectable, Logger, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { EnergyDetector, FallbackDetector, type SpeechDetector } from './speech-detector.js';
import { SILERO_FILE, SileroDetector, SileroThread } from './silero-detector.js';

export type DetectorName = 'silero' | 'energy';

/** Opens a speech detector for each recording: Silero where it can work, otherwise the level of the sound. */
@Injectable()
export class SpeechDetectionService implements OnApplicationShutdown {
  private readonly logger = new Logger(SpeechDetectionService.name);
  private thread: SileroThread | null = null;
  private streams = 0;
  private unusable: boolean;

  /** @param model its file, for tests */
  /** @param model another file of the model, for tests. */
  constructor(
    env: Env,
    @Optional() private readonly model: string = SILERO_FILE,
  ) {
    this.unusable = env.speechDetector === 'energy';
  }

  /** The detector of new recordings. */
  get detector(): DetectorName {
    return this.unusable ? 'energy' : 'silero';
  }

  /** For one recording. The caller closes it. */
  open(): SpeechDetector {
    if (this.unusable) return new EnergyDetector();
    this.thread ??= new SileroThread((error) => this.giveUp(error), this.model);
    return new FallbackDetector(new SileroDetector(this.thread, this.streams++));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread?.close();
  }

  private giveUp(error: Error): void {
    this.unusable = true;
    this.logger.warn({ err: error }, 'voice activity detection failed; detecting speech by its level');
  }
}
