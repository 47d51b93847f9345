import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { isActiveAccount } from '../../../access/accounts.queries.js';
import { auditTarget, recordChanges } from '../../../access/audit-trail.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { isResourceId } from '../../../platform/database/find-or-fail.js';
import { insertWithinLimit } from '../../../platform/database/locks.js';
import { AuthenticationError, NotFoundError, RateLimitError } from '../../../platform/errors/errors.js';
import type { PageQuery, PageResult } from '../../../platform/http/page.js';
import { TokenBucketStorage } from '../../../platform/rate-limit/token-bucket.storage.js';
import { AudioUrlsService } from '../audio-download/audio-urls.service.js';
import type { Recording } from '../recording.entity.js';
import { RecordingsService } from '../recordings.service.js';
import { hashPassword, isPassword } from './share-password.js';
import { Share } from './share.entity.js';

/** Of one recording. */
export const MAX_SHARES = 100;

const TOKEN_BYTES = 32;
const TOKEN = /^vnsh_[\w-]{43}$/;
/** Guesses of the password of one share. */
const GUESSES_MS = 60_000;
const GUESSES_OF_ADDRESS = 5;
const GUESSES_OF_ALL = 60;

/** The same for every cause: it does not tell whether there was such a link. */
export class ShareNotFoundError extends NotFoundError {
  constructor() {
    super('share', 'This link does not exist, or not any more.');
  }
}

/** No password was sent, or another one. */
export class PasswordRequiredError extends AuthenticationError {
  override readonly code = 'PASSWORD_REQUIRED';

  constructor() {
    super('This link has a password. Send it as password.');
  }
}

export interface NewShare {
  password: string | null;
  includesAudio: boolean;
  expiresAt: Date | null;
}

export interface SharedRecording {
  share: Share;
  recording: Recording;
}

/** Links with which people without an account read one recording (D96). */
@Injectable()
export class SharesService {
  constructor(
    @InjectRepository(Share) private readonly shares: Repository<Share>,
    private readonly database: DatabaseService,
    private readonly recordings: RecordingsService,
    private readonly audioUrls: AudioUrlsService,
    private readonly buckets: TokenBucketStorage,
  ) {}

  /** @returns the share and its token, which is not stored. @throws NotFoundError, LimitExceededError */
  async create(
    accountId: string,
    recordingId: string,
    createdBy: string | null,
    { password, includesAudio, expiresAt }: NewShare,
  ): Promise<{ share: Share; token: string }> {
    await this.recordings.get(accountId, recordingId);
    const token = `vnsh_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const share = this.shares.create({
      id: uuidv7(),
      accountId,
      recordingId,
      tokenHash: hashOf(token),
      passwordHash: password === null ? null : await hashPassword(password),
      includesAudio,
      expiresAt,
      openedCount: 0,
      lastOpenedAt: null,
      createdBy,
      createdAt: new Date(),
    });
    await insertWithinLimit(this.database, Share, share, {
      maximum: MAX_SHARES,
      what: 'shares of a recording',
      counted: { recordingId },
      // It may have been deleted meanwhile.
      prepare: async (tx) => {
        await this.recordings.lock(tx, accountId, recordingId);
        const after = { audio: includesAudio, expires_at: expiresAt, has_password: password !== null };
        await recordChanges(tx, { ...changeOf(share, 'share.created'), after });
      },
    });
    return { share, token };
  }

  /** Newest first, with those that have expired. @throws NotFoundError */
  async list(accountId: string, recordingId: string, { page, limit }: PageQuery): Promise<PageResult<Share>> {
    await this.recordings.get(accountId, recordingId);
    const [items, total] = await this.shares.findAndCount({
      where: { recordingId, accountId },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /** Nobody opens it any more, nor reads its audio. @throws NotFoundError */
  async delete(accountId: string, recordingId: string, id: string): Promise<void> {
    await this.recordings.get(accountId, recordingId);
    if (!isResourceId(id)) throw new NotFoundError('share');
    await this.database.transact(async (tx) => {
      const { affected } = await tx.manager.delete(Share, { id, recordingId, accountId });
      if (!affected) throw new NotFoundError('share');
      await recordChanges(tx, changeOf({ accountId, recordingId, id }, 'share.deleted'));
    });
  }

  /**
   * Counts it as opened.
   * @param address of the client, whose guesses are limited
   * @throws ShareNotFoundError, PasswordRequiredError, RateLimitError
   */
  async open(token: string, password: string | null, address: string): Promise<SharedRecording> {
    const share = TOKEN.test(token) ? await this.findUsable({ tokenHash: hashOf(token) }) : null;
    if (!share) throw new ShareNotFoundError();
    await this.checkPassword(share, password, address);
    const recording = await this.recordingOf(share);
    await this.countOpening(share.id);
    return { share, recording };
  }

  /** The recording whose audio a token of `AudioUrlsService.signShare` is for. @throws ShareNotFoundError */
  async findWithAudio(token: string): Promise<Recording> {
    const id = await this.audioUrls.verifyShare(token);
    const share = id === null ? null : await this.findUsable({ id });
    if (!share?.includesAudio) throw new ShareNotFoundError();
    return await this.recordingOf(share);
  }

  /** Null for one that has expired, or whose account is suspended. */
  private async findUsable(where: { id: string } | { tokenHash: string }): Promise<Share | null> {
    return await this.shares
      .createQueryBuilder('s')
      .setFindOptions({ where })
      .andWhere('(s.expires_at IS NULL OR s.expires_at > now())')
      .andWhere(isActiveAccount('s.account_id'))
      .getOne();
  }

  private async checkPassword({ id, passwordHash }: Share, password: string | null, address: string): Promise<void> {
    if (passwordHash === null) return;
    if (password === null) throw new PasswordRequiredError();
    const [ofAddress, ofAll] = await this.buckets.incrementBoth(
      { key: `share:{${id}}:${address}`, ttl: GUESSES_MS, limit: GUESSES_OF_ADDRESS },
      { key: `share:{${id}}`, ttl: GUESSES_MS, limit: GUESSES_OF_ALL },
    );
    const blocked = [ofAddress, ofAll].find(({ isBlocked }) => isBlocked);
    if (blocked) throw new RateLimitError(blocked.timeToBlockExpire);
    if (!(await isPassword(password, passwordHash))) throw new PasswordRequiredError();
  }

  /** It is deleted with its shares. @throws ShareNotFoundError */
  private async recordingOf({ accountId, recordingId }: Share): Promise<Recording> {
    try {
      return await this.recordings.get(accountId, recordingId);
    } catch (error) {
      throw error instanceof NotFoundError ? new ShareNotFoundError() : error;
    }
  }

  /** SQL, because of the clock of the database. */
  private async countOpening(id: string): Promise<void> {
    await this.database.query(
      'UPDATE shares SET opened_count = opened_count + 1, last_opened_at = now() WHERE id = $1',
      [id],
    );
  }
}

const hashOf = (token: string): string => hash('sha256', token, 'hex');

const changeOf = ({ accountId, recordingId, id }: Pick<Share, 'accountId' | 'recordingId' | 'id'>, action: string) => ({
  accountId,
  action,
  targets: [auditTarget('recording', recordingId), auditTarget('share', id)],
});
