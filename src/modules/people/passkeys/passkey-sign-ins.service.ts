import { Injectable, Logger } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { AuthenticationError } from '../../../platform/errors/errors.js';
import { type BegunSession, SessionsService } from '../sessions.service.js';
import { SignInWaysService } from '../sign-in-ways.service.js';
import { insertSession, lastAccountOf, type SessionClient, SignInsService } from '../sign-ins.service.js';
import { PasskeyChallengesService } from './passkey-challenges.service.js';
import { type Credential, PasskeyRefusedError, type RelyingParty, verifyAssertion } from './web-authn.js';

/** The same whatever is not right. */
export const WRONG_PASSKEY = 'This passkey does not sign in here, or it took too long. Try again, or use another way.';

interface FoundPasskey extends Omit<Credential, 'transports'> {
  id: string;
  personId: string;
}

/** Begins sessions of people who have a passkey, and say no name (D103). */
@Injectable()
export class PasskeySignInsService {
  private readonly logger = new Logger(PasskeySignInsService.name);

  constructor(
    private readonly database: DatabaseService,
    private readonly challenges: PasskeyChallengesService,
    private readonly sessions: SessionsService,
    private readonly signIns: SignInsService,
    private readonly ways: SignInWaysService,
  ) {}

  /** A challenge for anybody. @throws SignInWayOffError */
  async challenge(): Promise<string> {
    this.ways.require('passkey');
    return await this.challenges.create('sign-in');
  }

  /** @throws SignInWayOffError, AuthenticationError, RateLimitError */
  async begin(
    response: AuthenticationResponseJSON,
    relyingParty: RelyingParty,
    client: SessionClient,
  ): Promise<BegunSession> {
    this.ways.require('passkey');
    await this.signIns.limitAttempts(undefined, client.address);
    const begun = await this.beginSession(response, relyingParty, client);
    this.signIns.count(begun ? 'ok' : 'refused');
    if (!begun) throw new AuthenticationError(WRONG_PASSKEY);
    return await this.sessions.begun(begun);
  }

  private async beginSession(response: AuthenticationResponseJSON, relyingParty: RelyingParty, client: SessionClient) {
    let passkey: FoundPasskey | null = null;
    try {
      const challenge = await this.challenges.take('sign-in', response.response.clientDataJSON);
      passkey = await this.find(response);
      const counter = await verifyAssertion(response, challenge, relyingParty, passkey);
      return await this.enter(passkey, counter, client);
    } catch (error) {
      if (!(error instanceof PasskeyRefusedError)) throw error;
      this.logger.warn({ err: error, passkey_id: passkey?.id ?? null }, 'a sign-in with a passkey was refused');
      return null;
    }
  }

  /** People of OpenID providers are left out. @throws PasskeyRefusedError */
  private async find({ id, response: { userHandle } }: AuthenticationResponseJSON): Promise<FoundPasskey> {
    const [found] = await this.database.query<FoundPasskey>(
      `SELECT k.id, k.person_id AS "personId", k.credential_id AS "credentialId", k.public_key AS "publicKey",
         k.counter::float8 AS counter FROM passkeys k
       WHERE k.credential_id = $1 AND NOT EXISTS (SELECT FROM identities i WHERE i.person_id = k.person_id)`,
      [id],
    );
    if (!found) throw new PasskeyRefusedError('no such passkey');
    if (userHandle && userHandle !== userHandleOf(found.personId))
      throw new PasskeyRefusedError('the passkey names somebody else');
    return found;
  }

  /** Of two sign-ins that bring the same counter, one is refused. @throws PasskeyRefusedError */
  private async enter({ id, personId }: FoundPasskey, counter: number, client: SessionClient) {
    return await this.database.transact(async (tx) => {
      // Before the passkey, as a new password does.
      await tx.query('SELECT FROM people WHERE id = $1 FOR KEY SHARE', [personId]);
      const used = await tx.query(
        `UPDATE passkeys SET counter = $2, last_used_at = now()
         WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0)) RETURNING id`,
        [id, counter],
      );
      if (used.length === 0) throw new PasskeyRefusedError('it was removed or used meanwhile');
      const accountId = await lastAccountOf(tx, personId);
      if (accountId === null) throw new PasskeyRefusedError('its person belongs to no account');
      const begun = await insertSession(tx, { personId, accountId, beganWith: 'passkey', linkMadeBy: null }, client);
      if (!begun) throw new PasskeyRefusedError('its person has left the account');
      return begun;
    });
  }
}

/** The person as authenticators keep it: nothing that says who it is. */
export const userHandleOf = (personId: string): string =>
  Buffer.from(personId.replaceAll('-', ''), 'hex').toString('base64url');
