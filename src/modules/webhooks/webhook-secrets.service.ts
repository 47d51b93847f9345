import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../platform/database/database.service.js';
import { SecretsService } from '../../platform/secrets/secrets.service.js';

interface StoredSecret {
  id: string;
  accountId: string;
  encryptedSecret: string;
}

export interface Reencryption {
  reencrypted: number;
  /** Of secrets that a process without the current key has set meanwhile. */
  left: number;
  /** Webhooks whose secret no key that is here can read. */
  unreadable: { id: string; account_id: string }[];
}

/** Rows read at once: a fleet's worth of webhooks need not fit into memory. */
const BATCH = 500;
const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Puts the webhooks' secrets under the current SECRET_KEY. */
@Injectable()
export class WebhookSecretsService {
  constructor(
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
  ) {}

  /** May be broken off and begun anew at any time: what is under the current key already is passed over. */
  async reencrypt(): Promise<Reencryption> {
    const unreadable = new Map<string, StoredSecret>();
    let reencrypted = 0;
    for await (const stored of this.underOtherKeys()) {
      const secret = this.read(stored);
      if (secret === null) unreadable.set(stored.id, stored);
      else if (await this.replace(stored, secret)) reencrypted++;
    }
    let left = 0;
    for await (const { id } of this.underOtherKeys()) if (!unreadable.has(id)) left++;
    const named = [...unreadable.values()].map(({ id, accountId }) => ({ id, account_id: accountId }));
    return { reencrypted, left, unreadable: named };
  }

  private async *underOtherKeys(): AsyncGenerator<StoredSecret> {
    let batch: StoredSecret[] = [];
    do {
      batch = await this.database.query<StoredSecret>(
        `SELECT id, account_id AS "accountId", encrypted_secret AS "encryptedSecret" FROM webhooks
         WHERE id > $1 AND split_part(encrypted_secret, '.', 1) <> $2 ORDER BY id LIMIT ${BATCH}`,
        [batch.at(-1)?.id ?? NO_ID, this.secrets.keyId],
      );
      yield* batch;
    } while (batch.length === BATCH);
  }

  private read({ id, encryptedSecret }: StoredSecret): string | null {
    try {
      return this.secrets.decrypt(encryptedSecret, id);
    } catch {
      return null;
    }
  }

  /**
   * A statement for each row, so that no lock is held while another is waited for. A secret that its owner has changed
   * meanwhile is not overwritten, and `updated_at` stays: for the owner nothing has changed.
   */
  private async replace({ id, encryptedSecret }: StoredSecret, secret: string): Promise<boolean> {
    const replaced = await this.database.query(
      'UPDATE webhooks SET encrypted_secret = $3 WHERE id = $1 AND encrypted_secret = $2 RETURNING id',
      [id, encryptedSecret, this.secrets.encrypt(secret, id)],
    );
    return replaced.length > 0;
  }
}
