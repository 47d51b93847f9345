import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Scope } from '../../access/scopes.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail, isResourceId } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit, lockInserts } from '../../platform/database/locks.js';
import { AuthenticationError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import type { PageResult } from '../../platform/http/page.js';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey } from './api-key.entity.js';
import { whereStatus } from './api-key-status.js';
import { type ApiKeyCredential, findCredential, findCredentials, revokeKeys } from './api-keys.queries.js';
import { isWellFormed, makeKeyPair } from './api-key-secret.js';
import type { CreateApiKeyDto, ListApiKeysQuery } from './api-keys.dto.js';
import { SecretRehashService } from './rehash/secret-rehash.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';

/** Active keys of an account (D7). */
const MAX_ACTIVE_KEYS = 100;
/** Keys looked up by one statement. */
const MAX_UNKNOWN_KEYS = 500;
/** Between two such statements: 2,000 guesses a second are 100 statements. */
const UNKNOWN_KEYS_PAUSE_MS = 10;

export type { ApiKeyCredential };

/** Who creates a key. The new key never gets more rights than its creator has (D11, D36). */
export interface KeyCreator {
  /** Null for the operator. */
  keyId: string | null;
  scopes: readonly Scope[];
}

@Injectable()
export class ApiKeysService {
  private readonly findUnknown = coalesce((keys: readonly string[]) => findCredentials(this.database, keys), {
    maxItems: MAX_UNKNOWN_KEYS,
    pauseMs: UNKNOWN_KEYS_PAUSE_MS,
  });

  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
    private readonly usage: ApiKeyUsageService,
    private readonly rehash: SecretRehashService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /** Whether a pair can exist at all: a typo is found by its checksum, without a look-up. */
  isWellFormed(key: string, secret: string): boolean {
    return isWellFormed({ key, secret });
  }

  /**
   * Null for a key that is unknown or revoked. Keys that this process has not seen valid may be anybody's guesses: one
   * statement at a time reads many of them, so that they take neither connections nor CPU time from tenants.
   */
  findCredential(key: string, { isKnown }: { isKnown: boolean }): Promise<ApiKeyCredential | null> {
    return isKnown ? findCredential(this.database, key) : this.findUnknown(key);
  }

  /**
   * Whether the secret is that of a key that has not expired. The first match leaves a digest in `credential`, which
   * spares later calls the keyed hash; a hash under SECRET_KEY_PREVIOUS is renewed.
   */
  verifySecret(credential: ApiKeyCredential, secret: string): boolean {
    const { secretHash, secretDigest, expiresAt } = credential;
    if (expiresAt !== null && expiresAt.getTime() <= Date.now()) return false;
    if (secretDigest) return this.secrets.matchesDigest(secret, secretDigest);
    if (!this.secrets.matches(secret, secretHash)) return false;
    if (this.secrets.madeUnder(secretHash) === 'current') credential.secretDigest = this.secrets.digestOf(secret);
    else this.rehash.schedule(credential, secret);
    return true;
  }

  countUse(keyId: string): void {
    this.usage.count(keyId);
  }

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
