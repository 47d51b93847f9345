import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThanOrEqual, Repository } from 'typeorm';
import { NIL } from 'uuid';
import { DatabaseService } from '../../platform/database/database.service.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { Webhook } from './webhook.entity.js';

export interface Reencryption {
  reencrypted: number;
  /** Secrets that a process without the current key has set meanwhile. */
  left: number;
  /** Webhooks whose secret no configured key can read. */
  unreadable: { id: string; account_id: string }[];
}

/** Rows read at once, to bound memory. */
const BATCH = 500;
const START: SecretPosition = { id: NIL, isPrevious: false };

/** Re-encrypts the webhooks' secrets under the current SECRET_KEY. */
@Injectable()
export class WebhookSecretsService {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
  ) {}

  /** May be interrupted and started again at any time: secrets under the current key are skipped. */
  async reencrypt(): Promise<Reencryption> {
    await this.removeOld();
    const unreadable = new Map<string, StoredSecret>();
    let reencrypted = 0;
    for await (const stored of this.underOtherKeys()) {
      const secret = this.decrypt(stored);
      if (secret === null) unreadable.set(nameOf(stored), stored);
      else if (await this.replace(stored, secret)) reencrypted++;
    }
    let left = 0;
    for await (const stored of this.underOtherKeys()) if (!unreadable.has(nameOf(stored))) left++;
    const named = [...unreadable.values()].map(({ id, accountId }) => ({ id, account_id: accountId }));
    return { reencrypted, left, unreadable: named };
  }

  private async *underOtherKeys(): AsyncGenerator<StoredSecret> {
    let batch: StoredSecret[] = [];
    do {
      const after = batch.at(-1) ?? START;
      batch = await secretsUnderOtherKeys(this.database, { keyId: this.secrets.keyId, after, limit: BATCH });
      yield* batch;
    } while (batch.length === BATCH);
  }

  private decrypt({ id, encryptedSecret }: StoredSecret): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, id);
    } catch {
      return null;
    }
  }

  /**
   * One statement for each row, so that no lock is held while another is awaited. A secret that its owner has changed
   * meanwhile is not overwritten, and `updated_at` stays, because nothing changes for the owner.
   */
  private async replace({ id, encryptedSecret, isPrevious }: StoredSecret, secret: string): Promise<boolean> {
    const reencrypted = this.secrets.encrypt(secret, id);
    const { affected } = isPrevious
      ? await this.webhooks.update(
          { id, previousEncryptedSecret: encryptedSecret },
          { previousEncryptedSecret: reencrypted },
        )
      : await this.webhooks.update({ id, encryptedSecret }, { encryptedSecret: reencrypted });
    return affected === 1;
  }

  /** Previous secrets that sign nothing any more need no key. */
  private async removeOld(): Promise<void> {
    const isOld = { previousSecretUntil: LessThanOrEqual(new Date()) };
    await this.webhooks.update(isOld, { previousEncryptedSecret: null, previousSecretUntil: null });
  }
}

const nameOf = ({ id, isPrevious }: StoredSecret): string => `${id}/${isPrevious}`;

export interface StoredSecret {
  id: string;
  accountId: string;
  encryptedSecret: string;
  /** Whether it is the webhook's previous secret, which is still valid (D37). */
  isPrevious: boolean;
}

/** Where the last batch ended. */
type SecretPosition = Pick<StoredSecret, 'id' | 'isPrevious'>;

/**
 * Secrets that are not encrypted under key `keyId`, in the order of the webhooks' ids, after a position.
 * SQL because the key id is a part of the encrypted text.
 */
async function secretsUnderOtherKeys(
  database: DatabaseService,
  { keyId, after, limit }: { keyId: string; after: SecretPosition; limit: number },
): Promise<StoredSecret[]> {
  return await database.query<StoredSecret>(
    `SELECT id, account_id AS "accountId", secret AS "encryptedSecret", is_previous AS "isPrevious" FROM (
       SELECT id, account_id, encrypted_secret AS secret, false AS is_previous FROM webhooks
       UNION ALL
       SELECT id, account_id, previous_encrypted_secret, true FROM webhooks WHERE previous_secret_until > now()) s
     WHERE (id, is_previous) > ($1::uuid, $2::boolean) AND split_part(secret, '.', 1) <> $3
     ORDER BY id, is_previous LIMIT $4`,
    [after.id, after.isPrevious, keyId, limit],
  );
}
