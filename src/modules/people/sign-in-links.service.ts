import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import type { Role } from '../../access/roles.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { NotFoundError } from '../../platform/errors/errors.js';
import { hashOfToken } from './session-credentials.service.js';
import { SignInLink } from './sign-in-link.entity.js';
import { SignInWaysService } from './sign-in-ways.service.js';

const TOKEN_BYTES = 32;
const SIGN_IN = /^vnl_[\w-]{43}$/;
const INVITATION = /^vni_[\w-]{43}$/;
const DAY_MS = 86_400_000;

/** A link as it is given away. Nothing but its hash is stored. */
export interface MadeLink {
  id: string;
  token: string;
  expiresAt: Date;
}

/** Whom a link signs in, for which account, and who has made it. */
interface UsedLink {
  personId: string;
  accountId: string;
  linkMadeBy: string | null;
}

export const NO_INVITATION =
  'This invitation was accepted or withdrawn, has expired or does not exist. Ask for another one.';

interface NewLink extends Partial<
  Pick<SignInLink, 'personId' | 'email' | 'role' | 'createdByPerson' | 'createdByKey'>
> {
  accountId: string;
  days: number;
}

/** An invitation whose link is known, until it is used. */
export type OpenInvitation = Pick<SignInLink, 'id' | 'accountId' | 'expiresAt'> & { email: string; role: Role };

/** Links for one use. */
@Injectable()
export class SignInLinksService {
  constructor(
    private readonly database: DatabaseService,
    private readonly ways: SignInWaysService,
  ) {}

  /** Also removes those of the account that have expired. Without a person it is an invitation. */
  async create(tx: Tx, { days, ...link }: NewLink): Promise<MadeLink> {
    const kind = link.personId ? 'vnl' : 'vni';
    const token = `${kind}_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
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

  /**
   * Uses up a link that signs in a person. Null for one that was used, has expired, or does not exist.
   * @throws SignInWayOffError where links are switched off, for one that the operator has not made
   */
  async use(tx: Tx, token: string): Promise<UsedLink | null> {
    const isUsable = this.ways.has('link') ? 'TRUE' : '(created_by_person IS NULL AND created_by_key IS NULL)';
    const [used] = SIGN_IN.test(token)
      ? await tx.query<UsedLink>(
          `DELETE FROM sign_in_links
           WHERE token_hash = $1 AND person_id IS NOT NULL AND expires_at > now() AND ${isUsable}
           RETURNING person_id AS "personId", account_id AS "accountId", created_by_person AS "linkMadeBy"`,
          [hashOfToken(token)],
        )
      : [];
    if (!used) this.ways.require('link');
    return used ?? null;
  }

  /** @throws NotFoundError for one that was accepted or withdrawn, has expired, or does not exist */
  async findInvitation(token: string): Promise<OpenInvitation> {
    const [found] = INVITATION.test(token)
      ? await this.database.query<OpenInvitation>(
          `SELECT id, account_id AS "accountId", email, role, expires_at AS "expiresAt" FROM sign_in_links
           WHERE token_hash = $1 AND person_id IS NULL AND expires_at > now()`,
          [hashOfToken(token)],
        )
      : [];
    if (!found) throw new NotFoundError('invitation', NO_INVITATION);
    return found;
  }

  /** Nobody else can accept it then. @throws NotFoundError */
  async useInvitation(tx: Tx, { id }: OpenInvitation): Promise<void> {
    const used = await tx.query('DELETE FROM sign_in_links WHERE id = $1 AND expires_at > now() RETURNING id', [id]);
    if (used.length === 0) throw new NotFoundError('invitation', NO_INVITATION);
  }
}
