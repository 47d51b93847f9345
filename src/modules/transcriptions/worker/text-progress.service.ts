import { Injectable, Logger } from '@nestjs/common';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { isBackground, type Lease } from '../../recordings/leases/recording-leases.service.js';
import { PartialTextsService } from '../partial-texts.service.js';
import { TranscriptSignalsService } from '../transcript-signals.service.js';
import type { ChainInput } from './engine-chain.service.js';
import { PartialTextWriter } from './partial-text-writer.js';

/** What a run tells of its text while it works. */
export interface TextProgress extends Pick<ChainInput, 'onText' | 'onChunk'> {
  /** Before the run finishes. */
  end: () => Promise<void>;
}

/** Tells of the text of a run before it ends: to who listens, and in parts that are kept (D77). */
@Injectable()
export class TextProgressService {
  private readonly logger = new Logger(TextProgressService.name);

  constructor(
    private readonly signals: TranscriptSignalsService,
    private readonly partials: PartialTextsService,
  ) {}

  of(lease: Lease): TextProgress {
    const onText: ChainInput['onText'] = (text, { name: provider, model }) =>
      this.signals.publish(lease.id, { type: 'chunk', attempt: lease.attempt, ...text, provider, model });
    // One that is transcribed again has its text already.
    if (lease.rerun !== null || isBackground(lease)) return { onText, end: async () => undefined };
    const writer = new PartialTextWriter({
      written: () => this.partials.written(lease.id),
      write: (part) => this.partials.write(lease, part),
      failed: (error) => {
        if (error instanceof NotFoundError) return;
        this.logger.warn({ err: error, recording_id: lease.id }, 'a part of a text was not written');
      },
    });
    return { onText, onChunk: (chunk) => writer.add(chunk), end: () => writer.end() };
  }
}
