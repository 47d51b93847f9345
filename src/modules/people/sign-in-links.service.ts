import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../platform/database/database.service.js';
import { hashOfToken } from './session-credentials.service.js';
import { SignInLink } from './sign-in-link.entity.js';

const TOKEN_BYTES = 32;
const TOKEN = /^vnl_[\w-]{43}$/;
const DAY_MS = 86_400_000;

/** A link as it is given away. Nothing but its hash is stored. */
export interface MadeLink {
  id: string;
  token: string;
  expiresAt: Date;
}

interface NewLink extends Partial<
  Pick<SignInLink, 'personId' | 'email' | 'role' | 'createdByPerson' | 'createdByKey'>
> {
  accountId: string;
  days: number;
}

/** Links for one use. */
@Injectable()
export class SignInLinksService {
  /** Also removes those of the account that have expired. */
  async create(tx: Tx, { days, ...link }: NewLink): Promise<MadeLink> {
    const token = `vnl_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const now = Date.now();
    const expiresAt = new Date(now + days * DAY_MS);
    const id = uuidv7();
    await tx.query('DELETE FROM sign_in_links WHERE account_id = $1 AND expires_at <= now()', [link.accountId]);
    await tx.manager.insert(SignInLink, {
      id,
      tokenHash: hashOfToken(token),
      personId: null,
      email: null,
      role: null,
      createdByPerson: null,
      createdByKey: null,
      ...link,
      createdAt: new Date(now),
      expiresAt,
    });
    return { id, token, expiresAt };
  }

  /** Uses up a link that signs in a person. Null for one that was used, has expired, or does not exist. */
  async use(tx: Tx, token: string): Promise<{ personId: string; accountId: string } | null> {
    if (!TOKEN.test(token)) return null;
    const [used] = await tx.query<{ personId: string; accountId: string }>(
      `DELETE FROM sign_in_links WHERE token_hash = $1 AND person_id IS NOT NULL AND expires_at > now()
       RETURNING person_id AS "personId", account_id AS "accountId"`,
      [hashOfToken(token)],
    );
    return used ?? null;
  }
}
