import type { Repository } from 'typeorm';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { SecretsService } from '../../platform/secrets.service.js';
import { type StoredSecret, WebhookSecretsService } from './webhook-secrets.service.js';
import type { Webhook } from './webhook.entity.js';

const ACCOUNT = '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d';
const idOf = (number: number): string => `00000000-0000-0000-0000-${String(number).padStart(12, '0')}`;

describe('WebhookSecretsService', () => {
  /** What Postgres holds, in the order of the ids. Secrets are written as `key.text`. */
  let stored: StoredSecret[];
  /** Called before a secret is replaced. */
  let meanwhile: () => void;
  let service: WebhookSecretsService;

  const add = (number: number, encryptedSecret: string, isPrevious = false) =>
    stored.push({ id: idOf(number), accountId: ACCOUNT, encryptedSecret, isPrevious });
  const secrets = () => stored.map(({ encryptedSecret }) => encryptedSecret);

  beforeEach(() => {
    stored = [];
    meanwhile = () => undefined;
    const query = async (_: string, [id, isPrevious, keyId, limit]: [string, boolean, string, number]) => {
      const isLater = (row: StoredSecret): boolean => row.id > id || (row.id === id && row.isPrevious && !isPrevious);
      const found = stored.filter((row) => isLater(row) && !row.encryptedSecret.startsWith(`${keyId}.`));
      return found.slice(0, limit).map((row) => ({ ...row }));
    };
    const update = async (where: Partial<Webhook>, change: Partial<Webhook>) => {
      if (where.id === undefined) return { affected: 0 };
      meanwhile();
      const before = where.encryptedSecret ?? where.previousEncryptedSecret;
      const row = stored.find(({ id, encryptedSecret }) => id === where.id && encryptedSecret === before);
      if (!row) return { affected: 0 };
      row.encryptedSecret = (change.encryptedSecret ?? change.previousEncryptedSecret) as string;
      return { affected: 1 };
    };
    const keys: Partial<SecretsService> = {
      keyId: 'new',
      encrypt: (secret) => `new.${secret}`,
      decrypt: (encrypted) => {
        if (encrypted.startsWith('lost.')) throw new Error('encrypted under another SECRET_KEY');
        return encrypted.slice('old.'.length);
      },
    };
    service = new WebhookSecretsService(
      { update } as unknown as Repository<Webhook>,
      { query } as unknown as DatabaseService,
      keys as SecretsService,
    );
  });

  it('encrypts what it can read, also previous secrets, and names what it cannot, which is not left for another run', async () => {
    add(1, 'old.a');
    add(2, 'lost.b');
    add(3, 'new.c');
    add(3, 'old.d', true);
    expect(await service.reencrypt()).toEqual({
      reencrypted: 2,
      left: 0,
      unreadable: [{ id: idOf(2), account_id: ACCOUNT }],
    });
    expect(secrets()).toEqual(['new.a', 'lost.b', 'new.c', 'new.d']);
  });

  it('leaves a secret that its owner has changed meanwhile, and counts it as left', async () => {
    add(1, 'old.a');
    meanwhile = () => (stored[0] = { ...(stored[0] as StoredSecret), encryptedSecret: 'old.b' });
    expect(await service.reencrypt()).toEqual({ reencrypted: 0, left: 1, unreadable: [] });
    expect(secrets()).toEqual(['old.b']);
  });

  it('goes through any number of secrets', async () => {
    for (let i = 1; i <= 1001; i++) add(i, i % 2 === 0 ? `old.${i}` : `lost.${i}`);
    const { reencrypted, left, unreadable } = await service.reencrypt();
    expect([reencrypted, left, unreadable.length]).toEqual([500, 0, 501]);
  });
});
