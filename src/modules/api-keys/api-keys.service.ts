import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Scope } from '../../access/scopes.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit, lockInserts } from '../../platform/database/locks.js';
import { AuthenticationError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import type { PageResult } from '../../platform/http/page.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey, whereStatus } from './api-key.entity.js';
import { makeKeyPair } from './api-key-credentials.service.js';
import type { CreateApiKeyDto, ListApiKeysQuery } from './api-keys.dto.js';

/** Active keys of an account (D7). */
const MAX_ACTIVE_KEYS = 100;

/** Who creates a key. The new key never gets more rights than its creator has (D11, D36). */
export interface KeyCreator {
  /** Null for the operator. */
  keyId: string | null;
  scopes: readonly Scope[];
}

@Injectable()
export class ApiKeysService {
  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /**
   * @returns the key and its secret, which is not stored.
   * @throws PermissionError, LimitExceededError
   */
  async create(accountId: string, creator: KeyCreator, dto: CreateApiKeyDto) {
    const scopes = dto.scopes ?? [...creator.scopes];
    const exceeding = scopes.find((scope) => !creator.scopes.includes(scope));
    if (exceeding)
      throw new PermissionError(exceeding, `A key without the scope ${exceeding} cannot give it to another key.`);
    const { key, secret } = makeKeyPair();
    const now = new Date();
    const created = this.keys.create({
      id: uuidv7(),
      accountId,
      name: dto.name,
      description: dto.description ?? null,
      key,
      secretHash: this.secrets.hash(secret),
      scopes,
      usageCount: 0,
      lastUsedAt: null,
      expiresAt: dto.expires_at ? new Date(dto.expires_at) : null,
      revokedAt: null,
      createdBy: creator.keyId,
      createdAt: now,
      updatedAt: now,
    });
    await insertWithinLimit(this.database, ApiKey, created, {
      maximum: MAX_ACTIVE_KEYS,
      what: 'active API keys',
      counted: whereStatus(accountId, 'active'),
      prepare: (tx) => this.capExpiry(tx, created),
    });
    return { key: created, secret };
  }

  /** @throws NotFoundError; a revoked key is still found (D12). */
  async get(accountId: string, id: string): Promise<ApiKey> {
    return await findOrFail('API key', id, () => this.keys.findOneBy({ id, accountId }));
  }

  async list(accountId: string, { page, limit, status }: ListApiKeysQuery): Promise<PageResult<ApiKey>> {
    const [items, total] = await this.keys.findAndCount({
      where: status ? whereStatus(accountId, status) : { accountId, revokedAt: IsNull() },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /**
   * Revokes the key at once. With `descendants`, also all keys created with it, directly or indirectly, even if the key
   * itself is already revoked.
   * @returns the ids of the keys that were revoked by this call.
   * @throws NotFoundError when all of them are revoked already.
   */
  async revoke(accountId: string, id: string, { descendants = false } = {}): Promise<string[]> {
    if (!isResourceId(id)) throw new NotFoundError('API key');
    return await this.versions.change(accountId, async (tx) => {
      // A key that is being made at this moment is revoked, too, or refused.
      if (descendants) await lockInserts(tx, ApiKey, accountId);
      const ids = await revokeKeys(tx, { accountId, id, descendants });
      if (ids.length === 0) throw new NotFoundError('API key');
      return ids;
    });
  }

  /** The account of a key, for operators. @throws NotFoundError */
  async ownerOf(id: string): Promise<string> {
    return (await findOrFail('API key', id, () => this.keys.findOneBy({ id }))).accountId;
  }

  /**
   * Active keys whose hash is not under the current SECRET_KEY: `waiting` for their next use, which renews it, or
   * `unreadable` under any configured key, so that they cannot be used.
   */
  async underOtherKeys(): Promise<{ waiting: ApiKey[]; unreadable: ApiKey[] }> {
    const keys = await this.keys
      .createQueryBuilder('k')
      .addSelect('k.secretHash')
      .setFindOptions({ where: whereStatus(undefined, 'active') })
      .andWhere(`split_part(k.secret_hash, '.', 1) <> :keyId`, { keyId: this.secrets.keyId })
      .orderBy('k.createdAt')
      .addOrderBy('k.id')
      .getMany();
    const isWaiting = (key: ApiKey): boolean => this.secrets.madeUnder(key.secretHash) === 'previous';
    return { waiting: keys.filter(isWaiting), unreadable: keys.filter((key) => !isWaiting(key)) };
  }

  /**
   * The key expires no later than the one that makes it (D36).
   * @throws AuthenticationError when the creator was revoked since it was authenticated.
   */
  private async capExpiry(tx: Tx, created: ApiKey): Promise<void> {
    const { createdBy: id, accountId, expiresAt } = created;
    if (id === null) return;
    const creator = await tx.manager.findOneBy(ApiKey, { id, accountId, revokedAt: IsNull() });
    if (!creator) throw new AuthenticationError();
    if (creator.expiresAt !== null && (expiresAt === null || expiresAt > creator.expiresAt))
      created.expiresAt = creator.expiresAt;
  }
}

/**
 * Revokes keys and returns the ids of those that were not revoked before. SQL because of the recursion. The rows are
 * locked in the order of their ids, as by `addKeyUses`, so that the two cannot deadlock.
 */
async function revokeKeys(
  tx: Tx,
  { accountId, id, descendants }: { accountId: string; id: string; descendants: boolean },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `WITH RECURSIVE tree AS (
       SELECT id FROM api_keys WHERE id = $1 AND account_id = $2
       UNION SELECT k.id FROM api_keys k JOIN tree t ON k.created_by = t.id WHERE $3 AND k.account_id = $2),
     active AS (SELECT k.id FROM api_keys k JOIN tree USING (id) WHERE k.revoked_at IS NULL
       ORDER BY k.id FOR UPDATE OF k)
     UPDATE api_keys k SET revoked_at = now(), updated_at = now() FROM active WHERE k.id = active.id RETURNING k.id`,
    [id, accountId, descendants],
  );
  return rows.map((row) => row.id);
}
