import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { DelayedWrite } from '../../platform/concurrency/delayed-write.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { Networks } from '../../platform/http/networks.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey, type ApiKeyMode } from './api-key.entity.js';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_CHARACTERS = 24;
/** 43 base62 characters hold 256 bits. */
const SECRET_CHARACTERS = 43;
/** 62^6 exceeds 2^32. */
const CHECKSUM_CHARACTERS = 6;

const KEY = /^vnk_(test_)?[0-9A-Za-z]{24}$/;
const SECRET = /^vns_[0-9A-Za-z]{49}$/;

/** `last_used_at` and `usage_count` may lag by 5 s, since authentication must not wait for a write (D13). */
const FLUSH_MS = 2000;
/** Keys looked up by one statement. */
const MAX_UNKNOWN_KEYS = 500;
/** Between two such statements: 2,000 guesses a second are 100 statements. */
const UNKNOWN_KEYS_PAUSE_MS = 10;

/** What the guards need to know of a key that is not revoked. */
export interface ApiKeyCredential extends Pick<ApiKey, 'id' | 'accountId' | 'scopes' | 'secretHash' | 'expiresAt'> {
  /** `accounts.credential_version` when this was read. */
  version: number;
  /** From which the key may be used; null for anywhere. */
  networks: Networks | null;
  /** SHA-256 of the secret, once it matched the hash. */
  secretDigest?: Buffer;
}

/** Uses of one key since the last write. */
interface KeyUses {
  count: number;
  lastUsedAt: Date;
}

/** What the guards ask about key pairs: whether one is valid. It also counts the uses of each key. */
@Injectable()
export class ApiKeyCredentialsService implements OnApplicationShutdown {
  private readonly logger = new Logger(ApiKeyCredentialsService.name);
  private readonly findUnknown = coalesce((keys: readonly string[]) => findCredentials(this.database, keys), {
    maxItems: MAX_UNKNOWN_KEYS,
    pauseMs: UNKNOWN_KEYS_PAUSE_MS,
  });
  private uses = new Map<string, KeyUses>();
  private readonly usesWrite = new DelayedWrite(FLUSH_MS, () => this.writeUses());
  private readonly rehashes = new Map<string, { before: string; after: string }>();
  private rehashing: Promise<void> | null = null;

  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
  ) {}

  /** Whether a pair can exist at all: its CRC-32 detects a typo without a look-up. */
  isWellFormed(key: string, secret: string): boolean {
    if (!KEY.test(key) || !SECRET.test(secret)) return false;
    const body = secret.slice('vns_'.length, -CHECKSUM_CHARACTERS);
    return secret.endsWith(checksum(body));
  }

  /**
   * Null for a key that is unknown or revoked. Keys that this process has not seen valid may be anybody's guesses: one
   * statement at a time reads many of them, so that they take neither connections nor CPU time from tenants.
   */
  async findCredential(key: string, { isKnown }: { isKnown: boolean }): Promise<ApiKeyCredential | null> {
    if (!isKnown) return await this.findUnknown(key);
    const [found] = await findCredentials(this.database, [key]);
    return found ?? null;
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
    else this.rehash(credential, secret);
    return true;
  }

  /** The address, if the key may not be used from there (D95). @param address undefined when the connection is gone. */
  refusedAddress({ networks }: ApiKeyCredential, address = 'an unknown address'): string | null {
    return networks === null || networks.includes(address) ? null : address;
  }

  /** Written later, in one statement for all keys. */
  countUse(keyId: string): void {
    const uses = this.uses.get(keyId);
    this.uses.set(keyId, { count: (uses?.count ?? 0) + 1, lastUsedAt: new Date() });
    this.usesWrite.schedule();
  }

  async onApplicationShutdown(): Promise<void> {
    this.rehashes.clear();
    await this.usesWrite.flush();
    await this.rehashing;
  }

  private async writeUses(): Promise<void> {
    const batch = this.uses;
    if (batch.size === 0) return;
    this.uses = new Map();
    try {
      await addKeyUses(this.database, batch);
    } catch (error) {
      this.logger.warn({ err: error }, 'api key usage not written; retrying');
      for (const [id, { count, lastUsedAt }] of batch) {
        const since = this.uses.get(id);
        this.uses.set(id, { count: count + (since?.count ?? 0), lastUsedAt: since?.lastUsedAt ?? lastUsedAt });
      }
      this.usesWrite.schedule();
    }
  }

  /**
   * After SECRET_KEY has changed, hashes a secret anew when it is used, because only then is it known. No request waits for
   * the update or fails by it: what cannot be written now is written at the next use.
   */
  private rehash({ id, secretHash: before }: ApiKeyCredential, secret: string): void {
    if (this.rehashes.has(id)) return;
    this.rehashes.set(id, { before, after: this.secrets.hash(secret) });
    this.rehashing ??= this.writeHashes();
  }

  /** One at a time: many keys that are used for the first time must not take all connections from requests. */
  private async writeHashes(): Promise<void> {
    for (const [id, { before, after }] of this.rehashes) {
      try {
        await this.keys.update({ id, secretHash: before }, { secretHash: after });
      } catch (error) {
        this.logger.warn({ err: error, key_id: id }, 'api key hash not renewed');
      }
      this.rehashes.delete(id);
    }
    this.rehashing = null;
  }
}

interface FoundCredential extends Omit<ApiKeyCredential, 'networks'>, Pick<ApiKey, 'key' | 'allowedAddresses'> {}

/**
 * In the order of the keys, null for each that is unknown or revoked. SQL, because it is prepared and reads the version of
 * the account in the same snapshot: it runs for each key not cached.
 */
async function findCredentials(
  database: DatabaseService,
  keys: readonly string[],
): Promise<(ApiKeyCredential | null)[]> {
  const found = await database.prepared<FoundCredential>(
    `SELECT k.key, k.id, k.account_id AS "accountId", k.scopes, k.secret_hash AS "secretHash",
       k.expires_at AS "expiresAt", k.allowed_addresses AS "allowedAddresses", a.credential_version AS version
     FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.key = ANY($1::text[]) AND k.revoked_at IS NULL`,
    [keys],
  );
  const byKey = new Map(
    found.map(({ key, allowedAddresses, ...credential }) => [
      key,
      { ...credential, networks: allowedAddresses && new Networks(allowedAddresses) },
    ]),
  );
  return keys.map((key) => byKey.get(key) ?? null);
}

/**
 * SQL, because one statement updates many rows with different values. The rows are locked in the order of their ids, so
 * that two processes cannot deadlock.
 */
export async function addKeyUses(database: DatabaseService, uses: ReadonlyMap<string, KeyUses>): Promise<void> {
  await database.query(
    `UPDATE api_keys k SET usage_count = k.usage_count + u.count, last_used_at = greatest(k.last_used_at, u.used_at)
     FROM (SELECT k.id, u.count, u.used_at
           FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS u (id, count, used_at)
           JOIN api_keys k USING (id) ORDER BY k.id FOR UPDATE OF k) u
     WHERE k.id = u.id`,
    [
      [...uses.keys()],
      [...uses.values()].map(({ count }) => count),
      [...uses.values()].map(({ lastUsedAt }) => lastUsedAt),
    ],
  );
}

/** The two halves of a key pair as the client gets them (D9). The prefixes let secret scanners find leaked ones. */
export function makeKeyPair(mode: ApiKeyMode = 'live'): { key: string; secret: string } {
  const body = randomBase62(SECRET_CHARACTERS);
  const prefix = mode === 'test' ? 'vnk_test_' : 'vnk_';
  return { key: `${prefix}${randomBase62(KEY_CHARACTERS)}`, secret: `vns_${body}${checksum(body)}` };
}

function checksum(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    text = BASE62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}

function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(62)]).join('');
}
