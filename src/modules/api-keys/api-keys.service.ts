import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { type Versioned, CredentialCache } from '../../access/credential-cache.js';
import type { Scope } from '../../access/scopes.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { LimitExceededError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import type { PageResult } from '../../platform/http/page.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import { SecretsService } from '../../platform/secrets/secrets.service.js';
import { ApiKey } from './api-key.entity.js';
import { isWellFormed, makeKeyPair } from './api-key-secret.js';
import type { CreateApiKeyDto, ListApiKeysQuery } from './api-keys.dto.js';
import { SecretRehashService } from './secret-rehash.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';

/** Active keys of an account (D7). */
const MAX_ACTIVE_KEYS = 100;

const STATUS_CONDITION = {
  active: 'k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())',
  expired: 'k.revoked_at IS NULL AND k.expires_at <= now()',
  revoked: 'k.revoked_at IS NOT NULL',
};

/** What a process remembers of a key that is not revoked. */
export interface Credential
  extends Pick<ApiKey, 'id' | 'accountId' | 'scopes' | 'secretHash' | 'expiresAt'>, Versioned {
  /** Of the secret, once that was shown and matched. */
  proof?: Buffer;
}

@Injectable()
export class ApiKeysService {
  private readonly credentials = new CredentialCache<Credential>((key) => this.readCredential(key));

  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
    private readonly usage: ApiKeyUsageService,
    private readonly renewal: SecretRehashService,
    private readonly epochs: CredentialVersionsService,
  ) {}

  /** As `authenticate`, from memory alone and at once. Null also where Postgres or the hash has to be asked. */
  recall(key: string, secret: string): Credential | null {
    const known = this.credentials.recall(key);
    if (!known?.proof || isExpired(known) || !this.secrets.matchesDigest(secret, known.proof)) return null;
    return known;
  }

  /**
   * The live key that a pair belongs to; null for any other pair, whatever is wrong with it.
   * @param fresh asks Postgres, also where the key is remembered.
   */
  async authenticate(key: string, secret: string, fresh: boolean): Promise<Credential | null> {
    if (!isWellFormed({ key, secret })) return null;
    const found = await this.credentials.get(key, fresh);
    if (!found || !this.secrets.matches(secret, found.secretHash)) return null;
    if (isExpired(found)) return null;
    if (this.secrets.madeUnder(found.secretHash) === 'current') found.proof = this.secrets.digestOf(secret);
    else this.renewal.renew(found, secret);
    return found;
  }

  countUse(keyId: string): void {
    this.usage.count(keyId);
  }

  /**
   * @param creatorScopes those of the key that asks; the new key never gets more (D11).
   * @returns the key, and its secret, which is not kept.
   * @throws PermissionError, LimitExceededError
   */
  async create(accountId: string, creatorScopes: readonly Scope[], dto: CreateApiKeyDto) {
    const scopes = dto.scopes ?? [...creatorScopes];
    const exceeding = scopes.find((scope) => !creatorScopes.includes(scope));
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
      createdAt: now,
      updatedAt: now,
    });
    await this.insertWithinLimit(created);
    return { key: created, secret };
  }

  /** @throws NotFoundError; a revoked key is still found (D12). */
  async get(accountId: string, id: string): Promise<ApiKey> {
    const key = isResourceId(id) ? await this.keys.findOneBy({ id, accountId }) : null;
    if (!key) throw new NotFoundError('API key');
    return key;
  }

  async list(accountId: string, { page, limit, status }: ListApiKeysQuery): Promise<PageResult<ApiKey>> {
    const [items, total] = await this.keys
      .createQueryBuilder('k')
      .where('k.account_id = :accountId', { accountId })
      .andWhere(status ? STATUS_CONDITION[status] : 'k.revoked_at IS NULL')
      .orderBy('k.createdAt', 'DESC')
      .addOrderBy('k.id', 'DESC')
      .offset(page * limit)
      .limit(limit)
      .getManyAndCount();
    return { items, total };
  }

  /** From the next request on the key is worth nothing. @throws NotFoundError also when it is revoked already. */
  async revoke(accountId: string, id: string): Promise<void> {
    if (!isResourceId(id)) throw new NotFoundError('API key');
    const epoch = await this.database.transact(async (tx) => {
      const now = new Date();
      const { affected } = await tx.manager.update(
        ApiKey,
        { id, accountId, revokedAt: IsNull() },
        { revokedAt: now, updatedAt: now },
      );
      if (!affected) throw new NotFoundError('API key');
      return await this.epochs.after(tx, accountId);
    });
    await this.epochs.announce(accountId, epoch);
  }

  /** For operators, who know keys by their id alone. @throws NotFoundError */
  async ownerOf(id: string): Promise<string> {
    const key = isResourceId(id) ? await this.keys.findOneBy({ id }) : null;
    if (!key) throw new NotFoundError('API key');
    return key.accountId;
  }

  /**
   * Keys that are good for something, but whose hash is not under the current SECRET_KEY: `waiting` for their next use,
   * which renews it, or `unreadable` by any key that is here, so that nobody can use them.
   */
  async underOtherKeys(): Promise<{ waiting: ApiKey[]; unreadable: ApiKey[] }> {
    const keys = await this.keys
      .createQueryBuilder('k')
      .addSelect('k.secretHash')
      .where(STATUS_CONDITION.active)
      .andWhere(`split_part(k.secret_hash, '.', 1) <> :keyId`, { keyId: this.secrets.keyId })
      .orderBy('k.createdAt')
      .addOrderBy('k.id')
      .getMany();
    const isWaiting = (key: ApiKey): boolean => this.secrets.madeUnder(key.secretHash) === 'previous';
    return { waiting: keys.filter(isWaiting), unreadable: keys.filter((key) => !isWaiting(key)) };
  }

  private async readCredential(key: string): Promise<Credential | null> {
    const [found] = await this.database.prepared<Credential>(
      `SELECT k.id, k.account_id AS "accountId", k.scopes, k.secret_hash AS "secretHash", k.expires_at AS "expiresAt",
         a.credential_version AS epoch FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key = $1 AND k.revoked_at IS NULL`,
      [key],
    );
    return found ?? null;
  }

  /** Creations of one account take turns, so that the limit is exact however many ask at once. */
  private async insertWithinLimit(key: ApiKey): Promise<void> {
    await this.database.transact(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('api-keys:' || $1, 0))`, [key.accountId]);
      const [row] = await tx.query<{ active: number }>(
        `SELECT count(*)::int AS active FROM api_keys k WHERE k.account_id = $1 AND ${STATUS_CONDITION.active}`,
        [key.accountId],
      );
      if ((row?.active ?? 0) >= MAX_ACTIVE_KEYS) throw new LimitExceededError('active API keys', MAX_ACTIVE_KEYS);
      await tx.manager.insert(ApiKey, key);
    });
  }
}

const isExpired = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>): boolean =>
  expiresAt !== null && expiresAt.getTime() <= Date.now();
