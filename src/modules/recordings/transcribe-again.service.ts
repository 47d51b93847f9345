import { Injectable } from '@nestjs/common';
import type { Quotas } from '../../access/plans.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { NO_SPEAKERS, storedSpeakers } from '../../platform/speakers.js';
import { normalizeTerms } from '../../platform/vocabulary.js';
import type { Recording } from './recording.entity.js';
import type { RunOptions } from './recordings.queries.js';
import { RecordingsService } from './recordings.service.js';
import type { TranscribeAgainDto } from './recordings.dto.js';
import { readSpokenLanguages } from './upload/upload-fields.js';

/** Checks what a client asks for in another run of a recording (D49). */
@Injectable()
export class TranscribeAgainService {
  constructor(
    private readonly recordings: RecordingsService,
    private readonly database: DatabaseService,
    private readonly env: Env,
  ) {}

  /** @throws NotFoundError, InvalidRequestError, ConflictError while it is to be transcribed, QuotaExceededError */
  async request(
    accountId: string,
    id: string,
    { engine, language, languages, vocabulary, speakers }: TranscribeAgainDto,
    quotas: Quotas,
  ): Promise<Recording> {
    // What the account has not is 404, whatever else is wrong.
    await this.recordings.get(accountId, id);
    if (engine !== undefined) await this.checkEngine(accountId, engine);
    const options: RunOptions = { engine, ...readSpokenLanguages(language, languages) };
    if (vocabulary) options.vocabulary = normalizeTerms(vocabulary);
    if (speakers !== undefined) options.speakers = speakers === null ? NO_SPEAKERS : storedSpeakers(speakers);
    return await this.recordings.transcribeAgain(accountId, id, options, quotas);
  }

  /** Those that the operator has given to the account, else those that are open to all: others may cost more. */
  private async checkEngine(accountId: string, engine: string): Promise<void> {
    const names = (await this.enginesOf(accountId)) ?? this.env.clientEngines;
    if (!names.includes(engine)) throw unknownEngine(names);
  }

  /** Names of the engines of an account, or null for those of the service. SQL, because the table belongs to another module. */
  private async enginesOf(accountId: string): Promise<string[] | null> {
    const [row] = await this.database.query<{ names: string[] | null }>(
      `SELECT CASE WHEN engines IS NOT NULL THEN
         ARRAY(SELECT DISTINCT each ->> 'name' FROM jsonb_array_elements(engines) AS each ORDER BY 1) END AS names
       FROM accounts WHERE id = $1`,
      [accountId],
    );
    return row?.names ?? null;
  }
}

export const unknownEngine = (names: readonly string[]): InvalidRequestError =>
  new InvalidRequestError({
    field: 'engine',
    reason:
      names.length > 0
        ? `must be the name of an engine: ${names.join(' or ')}`
        : 'must be left out: this service lets clients choose no engine',
  });
