import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import { Counter, Registry } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { setSigningIn } from '../../access/acting.js';
import { recordChanges } from '../../access/audit-trail.js';
import { isLiveSession } from '../../access/sessions.queries.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { AuthenticationError, InvalidRequestError, RateLimitError } from '../../platform/errors/errors.js';
import { TokenBucketStorage } from '../../platform/rate-limit/token-bucket.storage.js';
import { PasswordsService } from './passwords.service.js';
import { hashOfToken } from './session-credentials.service.js';
import { Session, sessionChange } from './session.entity.js';
import { type BegunSession, SessionsService } from './sessions.service.js';
import { SignInLinksService } from './sign-in-links.service.js';

const TOKEN_BYTES = 32;
const LIFETIME_MS = 30 * 86_400_000;
const MAX_USER_AGENT = 500;
/** Attempts of one client to sign in: after the first ones, one a minute for each e-mail address, and six in all. */
const ATTEMPTS_MS = 600_000;
const ATTEMPTS_FOR_EMAIL = 10;
const ATTEMPTS_OF_ADDRESS = 60;

/** The same for an address that nobody has. */
export const WRONG_PASSWORD = 'The e-mail address or the password is not right.';
const INVALID_LINK = 'This link was used, has expired or does not exist. Ask for another one.';

/** What is sent to sign in: a link, or both others. */
export interface SignIn {
  email?: string | undefined;
  password?: string | undefined;
  link?: string | undefined;
}

/** The browser that signs in. */
export interface SessionClient {
  address: string | undefined;
  userAgent: string | undefined;
}

/** Begins sessions of people (D97). */
@Injectable()
export class SignInsService {
  private readonly signIns: Counter<'outcome'>;

  constructor(
    private readonly database: DatabaseService,
    private readonly passwords: PasswordsService,
    private readonly links: SignInLinksService,
    private readonly sessions: SessionsService,
    private readonly buckets: TokenBucketStorage,
    registry: Registry,
  ) {
    this.signIns = new Counter({
      name: 'sign_ins_total',
      help: 'Attempts of people to sign in, by outcome: ok, refused or limited.',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  /** @throws InvalidRequestError, AuthenticationError, RateLimitError, SignInWayOffError */
  async begin(signIn: SignIn, client: SessionClient): Promise<BegunSession> {
    const { email, password, link } = signIn;
    const byPassword = email !== undefined && password !== undefined;
    if (byPassword === (link !== undefined) || (link !== undefined && (email ?? password) !== undefined))
      throw new InvalidRequestError({ field: 'link', reason: 'or both email and password must be given, and not all' });
    await this.limitAttempts(email, client.address);
    const begun = byPassword
      ? await this.beginByPassword(email, password, client)
      : await this.beginByLink(link ?? '', client);
    this.count(begun ? 'ok' : 'refused');
    if (!begun) throw new AuthenticationError(byPassword ? WRONG_PASSWORD : INVALID_LINK);
    return await this.sessions.begun(begun);
  }

  count(outcome: 'ok' | 'refused'): void {
    this.signIns.inc({ outcome });
  }

  /** @throws RateLimitError Nobody is kept out by the attempts of another client. */
  async limitAttempts(email: string | undefined, address = 'unknown'): Promise<void> {
    const client = `sign-in:{${normalizeIp(address)}}`;
    const ofAddress = { key: client, ttl: ATTEMPTS_MS, limit: ATTEMPTS_OF_ADDRESS };
    const records =
      email === undefined
        ? [await this.buckets.increment(ofAddress.key, ofAddress.ttl, ofAddress.limit)]
        : await this.buckets.incrementBoth(ofAddress, {
            key: `${client}:${hash('sha256', email.toLowerCase(), 'base64url')}`,
            ttl: ATTEMPTS_MS,
            limit: ATTEMPTS_FOR_EMAIL,
          });
    const blocked = records.find(({ isBlocked }) => isBlocked);
    if (!blocked) return;
    this.signIns.inc({ outcome: 'limited' });
    throw new RateLimitError(blocked.timeToBlockExpire);
  }

  private async beginByPassword(email: string, password: string, client: SessionClient) {
    const found = await this.passwords.find(email, password);
    if (found === null) return null;
    const { personId } = found;
    return await this.database.transact(async (tx) => {
      if (!(await this.passwords.isStill(tx, found))) return null;
      const accountId = await lastAccountOf(tx, personId);
      if (accountId === null) return null;
      return await insertSession(tx, { personId, accountId, beganWith: 'password', linkMadeBy: null }, client);
    });
  }

  private async beginByLink(link: string, client: SessionClient) {
    return await this.database.transact(async (tx) => {
      const used = await this.links.use(tx, link);
      return used && (await insertSession(tx, { ...used, beganWith: 'link' }, client));
    });
  }
}

interface NewSession
  extends
    Pick<Session, 'personId' | 'accountId' | 'beganWith' | 'linkMadeBy'>,
    Partial<Pick<Session, 'identityId' | 'provider' | 'providerToken' | 'checkedAt' | 'confirmedAt'>> {}

/** Null when the person has left the account. Also removes the sessions of the person that have ended by themselves. */
export async function insertSession(
  tx: Tx,
  fields: NewSession,
  { address, userAgent }: SessionClient,
): Promise<{ token: string; session: Session } | null> {
  const member = await tx.query('SELECT FROM memberships WHERE person_id = $1 AND account_id = $2 FOR KEY SHARE', [
    fields.personId,
    fields.accountId,
  ]);
  if (member.length === 0) return null;
  await tx.query(`DELETE FROM sessions WHERE person_id = $1 AND NOT ${isLiveSession('sessions')}`, [fields.personId]);
  const token = `vnss_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  const now = new Date();
  const session = tx.manager.create(Session, {
    id: uuidv7(),
    tokenHash: hashOfToken(token),
    identityId: null,
    provider: null,
    providerToken: null,
    checkedAt: null,
    confirmedAt: null,
    ...fields,
    address: address ?? null,
    userAgent: userAgent?.slice(0, MAX_USER_AGENT).toWellFormed() ?? null,
    createdAt: now,
    lastSeenAt: now,
    expiresAt: new Date(now.getTime() + LIFETIME_MS),
  });
  await tx.manager.insert(Session, session);
  setSigningIn(session.personId);
  await recordChanges(tx, { ...sessionChange(session, 'session.begun'), after: { with: session.beganWith } });
  return { token, session };
}

/** The account of the newest session, or else that to which the person belongs for the longest time. */
export async function lastAccountOf(tx: Tx, personId: string): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(
    `SELECT m.account_id AS id FROM memberships m WHERE m.person_id = $1
     ORDER BY (SELECT max(s.created_at) FROM sessions s WHERE s.person_id = $1 AND s.account_id = m.account_id)
       DESC NULLS LAST, m.created_at, m.id LIMIT 1`,
    [personId],
  );
  return row?.id ?? null;
}
