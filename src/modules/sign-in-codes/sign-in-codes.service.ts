import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { AuthenticationError, ServiceUnavailableError } from '../../platform/errors/errors.js';
import { RedisService } from '../../platform/redis/redis.service.js';
import { SecretsService } from '../../platform/secrets.service.js';

const CODE_BYTES = 32;
const LIFETIME_MS = 10 * 60_000;

export const INVALID_CODE = 'This sign-in code was used, has expired or does not exist. Create another one.';

/** Both halves of an API key. */
export interface KeyPair {
  key: string;
  secret: string;
}

export interface SignInCode {
  code: string;
  expiresAt: Date;
}

/**
 * Codes that are exchanged for a key pair, once. Redis has the hash of a code and the encrypted pair: neither a copy of
 * its memory nor SECRET_KEY alone gives a code or a secret.
 */
@Injectable()
export class SignInCodesService {
  constructor(
    private readonly database: DatabaseService,
    private readonly redis: RedisService,
    private readonly secrets: SecretsService,
  ) {}

  /** @throws ServiceUnavailableError without Redis. */
  async create(accountId: string, pair: KeyPair): Promise<SignInCode> {
    const code = `vnc_${randomBytes(CODE_BYTES).toString('base64url')}`;
    const name = nameOf(code);
    const sealed = this.secrets.encrypt(JSON.stringify(pair), name);
    const expiresAt = new Date(Date.now() + LIFETIME_MS);
    const stored = await this.redis.tryCommand((client) => client.set(name, sealed, 'PX', LIFETIME_MS));
    if (stored === null) throw new ServiceUnavailableError();
    const targets = [auditTarget('account', accountId)];
    await recordChanges(this.database, { accountId, action: 'sign_in_code.created', targets });
    return { code, expiresAt };
  }

  /** Of two requests with one code, one gets the pair. @throws AuthenticationError, ServiceUnavailableError */
  async exchange(code: string): Promise<KeyPair> {
    const name = nameOf(code);
    const taken = await this.redis.tryCommand(async (client) => ({ sealed: await client.getdel(name) }));
    if (taken === null) throw new ServiceUnavailableError();
    if (taken.sealed === null) throw new AuthenticationError(INVALID_CODE);
    return JSON.parse(this.secrets.decrypt(taken.sealed, name)) as KeyPair;
  }
}

const nameOf = (code: string): string => `sign-in:${hash('sha256', code, 'base64url')}`;
