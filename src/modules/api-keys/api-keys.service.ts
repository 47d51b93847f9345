import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type AccountPair, createTestAccount, selectAccountPair } from '../../access/accounts.queries.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Scope } from '../../access/scopes.js';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit, lockInserts } from '../../platform/database/locks.js';
import {
  AuthenticationError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
} from '../../platform/errors/errors.js';
import { Networks } from '../../platform/http/networks.js';
import type { PageResult } from '../../platform/http/page.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey, type ApiKeyMode, whereStatus } from './api-key.entity.js';
import { makeKeyPair } from './api-key-credentials.service.js';
import type { CreateApiKeyDto, ListApiKeysQuery } from './api-keys.dto.js';

/** Active keys of an account (D7). */
const MAX_ACTIVE_KEYS = 100;

/** Who creates a key. The new key never gets more rights than its creator has (D11, D36). */
export interface KeyCreator {
  /** Null for a person, and for the operator. */
  keyId: string | null;
  /** Who has signed in, if that is a person. */
  personId?: string | null;
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
   * @returns the key and its secret, which is not stored. A test key belongs to the test account, which is created with the
   *   first one (D80).
   * @throws PermissionError, InvalidRequestError, LimitExceededError
   */
  async create(accountId: string, creator: KeyCreator, dto: CreateApiKeyDto) {
    const scopes = dto.scopes ?? [...creator.scopes];
    const exceeding = scopes.find((scope) => !creator.scopes.includes(scope));
    if (exceeding)
      throw new PermissionError(exceeding, `A key without the scope ${exceeding} cannot give it to another key.`);
    const pair = await this.pairOf(accountId);
    const mode = modeIn(pair, dto.mode);
    const ownerId = mode === 'live' || pair.isTest ? accountId : await this.testAccountOf(accountId);
    const { key, secret } = makeKeyPair(mode);
    const now = new Date();
    const created = this.keys.create({
      id: uuidv7(),
      accountId: ownerId,
      name: dto.name,
      description: dto.description ?? null,
      key,
      secretHash: this.secrets.hash(secret),
      scopes,
      usageCount: 0,
      lastUsedAt: null,
      allowedAddresses: dto.allowed_addresses ?? null,
      expiresAt: dto.expires_at ? new Date(dto.expires_at) : null,
      revokedAt: null,
      createdBy: creator.keyId,
      createdByPerson: creator.personId ?? null,
      createdAt: now,
      updatedAt: now,
    });
    await insertWithinLimit(this.database, ApiKey, created, {
      maximum: MAX_ACTIVE_KEYS,
      what: 'active API keys',
      counted: whereStatus(ownerId, 'active'),
      prepare: async (tx) => {
        await this.capByCreator(tx, accountId, created);
        await recordChanges(tx, {
          ...changeOf(accountId, 'api_key.created', [created.id]),
          after: shownKey(created, mode),
        });
      },
    });
    return { key: created, secret };
  }

  /** @throws NotFoundError; a revoked key is still found (D12). */
  async get(accountId: string, id: string): Promise<ApiKey> {
    const { testId } = await this.pairOf(accountId);
    const owners = In([accountId, testId].filter((owner) => owner !== null));
    return await findOrFail('API key', id, () => this.keys.findOneBy({ id, accountId: owners }));
  }

  async list(accountId: string, { page, limit, status, mode }: ListApiKeysQuery): Promise<PageResult<ApiKey>> {
    const pair = await this.pairOf(accountId);
    const ownerId = modeIn(pair, mode) === 'live' || pair.isTest ? accountId : pair.testId;
    if (ownerId === null) return { items: [], total: 0 };
    const [items, total] = await this.keys.findAndCount({
      where: status ? whereStatus(ownerId, status) : { accountId: ownerId, revokedAt: IsNull() },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /**
   * Revokes the key, which may be a test key of the account, at once. With `descendants`, also all keys created with it,
   * directly or indirectly, even if the key itself is already revoked.
   * @returns the ids of the keys that were revoked by this call.
   * @throws NotFoundError when all of them are revoked already.
   */
  async revoke(accountId: string, id: string, { descendants = false } = {}): Promise<string[]> {
    if (!isResourceId(id)) throw new NotFoundError('API key');
    const { testId } = await this.pairOf(accountId);
    const owners = testId === null ? [accountId] : [accountId, testId];
    const revoked = await this.versions.change(accountId, async (tx) => {
      // A key that is being made at this moment is revoked, too, or refused.
      if (descendants) await lockInserts(tx, ApiKey, ...owners);
      const ids = await revokeKeys(tx, { owners, id, descendants });
      if (ids.length === 0) throw new NotFoundError('API key');
      // The key itself first, unless it was revoked before.
      const inOrder = ids.toSorted((one, other) => Number(other === id) - Number(one === id));
      await recordChanges(tx, changeOf(accountId, 'api_key.revoked', inOrder));
      return ids;
    });
    if (testId !== null) await this.versions.announce(testId);
    return revoked;
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
   * The key expires no later than the one that makes it (D36), which is in the live account for a first test key, and may
   * be used from no other addresses (D95).
   * @throws AuthenticationError when the creator was revoked since it was authenticated; InvalidRequestError
   */
  private async capByCreator(tx: Tx, accountId: string, created: ApiKey): Promise<void> {
    const { createdBy: id, expiresAt } = created;
    if (id === null) return;
    const creator = await tx.manager.findOneBy(ApiKey, { id, accountId, revokedAt: IsNull() });
    if (!creator) throw new AuthenticationError();
    if (creator.expiresAt !== null && (expiresAt === null || expiresAt > creator.expiresAt))
      created.expiresAt = creator.expiresAt;
    created.allowedAddresses = addressesWithin(creator.allowedAddresses, created.allowedAddresses);
  }

  private async pairOf(accountId: string): Promise<AccountPair> {
    return (await selectAccountPair(this.database, accountId)) ?? { isTest: false, testId: null };
  }

  private async testAccountOf(accountId: string): Promise<string> {
    await createTestAccount(this.database, accountId, uuidv7());
    const { testId } = await this.pairOf(accountId);
    if (testId === null) throw new AuthenticationError();
    return testId;
  }
}

const changeOf = (accountId: string, action: string, ids: readonly string[]) => ({
  accountId,
  action,
  targets: ids.map((id) => auditTarget('api_key', id)),
});

const shownKey = ({ name, scopes, expiresAt, allowedAddresses }: ApiKey, mode: ApiKeyMode): object => ({
  name,
  mode,
  scopes,
  expires_at: expiresAt,
  allowed_addresses: allowedAddresses,
});

/** The mode of keys that the account creates or lists. @throws InvalidRequestError, because a test key sees no live one. */
function modeIn({ isTest }: AccountPair, mode: ApiKeyMode | undefined): ApiKeyMode {
  if (isTest && mode === 'live')
    throw new InvalidRequestError({ field: 'mode', reason: 'must be test for a test key' });
  return mode ?? (isTest ? 'test' : 'live');
}

/** Those of a new key. @param own of the key that makes it. @throws InvalidRequestError for one that it may not use. */
function addressesWithin(own: string[] | null, asked: string[] | null): string[] | null {
  if (own === null || asked === null) return asked ?? own;
  const networks = new Networks(own);
  const other = asked.find((cidr) => !networks.covers(cidr));
  if (other === undefined) return asked;
  throw new InvalidRequestError({
    field: 'allowed_addresses',
    reason: `must lie within those of the key that creates it; ${other} does not`,
  });
}

/**
 * Revokes keys and returns the ids of those that were not revoked before. SQL because of the recursion. The rows are
 * locked in the order of their ids, as by `addKeyUses`, so that the two cannot deadlock.
 */
async function revokeKeys(
  tx: Tx,
  { owners, id, descendants }: { owners: readonly string[]; id: string; descendants: boolean },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `WITH RECURSIVE tree AS (
       SELECT id FROM api_keys WHERE id = $1 AND account_id = ANY ($2::uuid[])
       UNION SELECT k.id FROM api_keys k JOIN tree t ON k.created_by = t.id WHERE $3
         AND k.account_id = ANY ($2::uuid[])),
     active AS (SELECT k.id FROM api_keys k JOIN tree USING (id) WHERE k.revoked_at IS NULL
       ORDER BY k.id FOR UPDATE OF k)
     UPDATE api_keys k SET revoked_at = now(), updated_at = now() FROM active WHERE k.id = active.id RETURNING k.id`,
    [id, owners, descendants],
  );
  return rows.map((row) => row.id);
}
