import { Inject, Injectable } from '@nestjs/common';
import type { Quotas } from '../../../access/quotas.js';
import { InvalidRequestError } from '../../../platform/errors/errors.js';
import type { Recording } from '../recording.entity.js';
import { RecordingsService } from '../recordings.service.js';
import { readLanguage } from '../upload/upload-fields.js';
import { ENGINE_NAMES } from './engine-names.module.js';
import type { TranscribeAgainDto } from './transcribe-again.dto.js';

/** Checks what a client asks for in another run of a recording (D49). */
@Injectable()
export class TranscribeAgainService {
  constructor(
    private readonly recordings: RecordingsService,
    @Inject(ENGINE_NAMES) private readonly engineNames: readonly string[],
  ) {}

  /** @throws NotFoundError, InvalidRequestError, ConflictError while it is to be transcribed, QuotaExceededError */
  async request(
    accountId: string,
    id: string,
    { engine, language }: TranscribeAgainDto,
    quotas: Quotas,
  ): Promise<Recording> {
    if (engine !== undefined && !this.engineNames.includes(engine)) throw unknownEngine(this.engineNames);
    return await this.recordings.transcribeAgain(accountId, id, { engine, language: readLanguage(language) }, quotas);
  }
}

export const unknownEngine = (names: readonly string[]): InvalidRequestError =>
  new InvalidRequestError({ field: 'engine', reason: `must be the name of an engine: ${names.join(' or ')}` });
