import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { setSigningIn } from '../../access/acting.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  PermissionError,
  SignInWayOffError,
} from '../../platform/errors/errors.js';
import { Membership } from './membership.entity.js';
import { BOUND_TO_ACCOUNT, endSessions, insertMembership, lockMembers, lockPerson } from './memberships.queries.js';
import { type HashedPassword, PasswordsService } from './passwords.service.js';
import { Person } from './person.entity.js';
import { Session } from './session.entity.js';
import { type BegunSession, SessionsService } from './sessions.service.js';
import { type OpenInvitation, SignInLinksService } from './sign-in-links.service.js';
import { SignInWaysService } from './sign-in-ways.service.js';
import { insertSession, type SessionClient } from './sign-ins.service.js';

/** What somebody sees of an invitation before accepting it. */
export interface InvitationPreview extends OpenInvitation {
  accountName: string;
}

interface NoPassword {
  hash: null;
  salt: null;
}

/** Those who have the link of an invitation: they become members, as a new person or as the one who has signed in (D99). */
@Injectable()
export class InviteesService {
  constructor(
    private readonly database: DatabaseService,
    private readonly links: SignInLinksService,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionsService,
    private readonly versions: CredentialVersionsService,
    private readonly ways: SignInWaysService,
  ) {}

  /** The link can still be used. @throws NotFoundError */
  async preview(link: string): Promise<InvitationPreview> {
    const invitation = await this.links.findInvitation(link);
    // SQL, because accounts belong to another module.
    const [account] = await this.database.query<{ name: string }>('SELECT name FROM accounts WHERE id = $1', [
      invitation.accountId,
    ]);
    return { ...invitation, accountName: account?.name ?? '' };
  }

  /**
   * Makes a new person, even if others have this e-mail address. Where passwords are switched off the person has none, and the
   * session is as one that began with a link.
   * @returns a session of the person, and its token
   * @throws InvalidRequestError, NotFoundError, LimitExceededError, SignInWayOffError
   */
  async accept(
    { link, name, password }: { link: string; name: string; password?: string | undefined },
    client: SessionClient,
  ): Promise<BegunSession> {
    this.requirePassword(password);
    const invitation = await this.links.findInvitation(link);
    const { email, accountId, role } = invitation;
    if (password !== undefined) this.passwords.refuseCommon(password, { name, email });
    const personId = uuidv7();
    setSigningIn(personId);
    const enter = async (tx: Tx, { hash, salt }: HashedPassword | NoPassword) => {
      await lockMembers(tx, accountId);
      await this.links.useInvitation(tx, invitation);
      const times = { createdAt: new Date(), updatedAt: new Date() };
      await tx.manager.insert(Person, { id: personId, name, email, passwordHash: hash, passwordSalt: salt, ...times });
      await insertMembership(tx, { accountId, personId, role });
      const beganWith = hash === null ? 'link' : 'password';
      return await insertSession(tx, { personId, accountId, beganWith, linkMadeBy: null }, client);
    };
    const begun =
      password === undefined
        ? await this.database.transact((tx) => enter(tx, { hash: null, salt: null }))
        : await this.passwords.change(email, password, enter);
    if (!begun) throw new AuthenticationError();
    return await this.sessions.begun(begun);
  }

  /** It is needed where people sign in with one. Nobody becomes a person who could not come again. */
  private requirePassword(password: string | undefined): void {
    if (!this.ways.has('password') && !this.ways.has('link')) throw new SignInWayOffError('password');
    if (password !== undefined) this.ways.require('password');
    else if (this.ways.has('password')) throw new InvalidRequestError({ field: 'password', reason: 'is required' });
  }

  /**
   * Makes the person who has signed in a member of one more account. What administrators of the account before could use
   * to act as this person ends: links that sign in, and sessions that began with one.
   * @throws NotFoundError, PermissionError, ConflictError, LimitExceededError
   */
  async join({ id, personId, beganWith }: Session, link: string): Promise<OpenInvitation> {
    const invitation = await this.links.findInvitation(link);
    if (beganWith === 'link') throw new PermissionError(null, BOUND_TO_ACCOUNT);
    const { accountId, role } = invitation;
    const accountIds = await this.database.transact(async (tx) => {
      await lockMembers(tx, accountId);
      await lockPerson(tx, personId);
      // A new password may have ended it meanwhile.
      if (!(await tx.manager.existsBy(Session, { id }))) throw new AuthenticationError();
      if (await tx.manager.existsBy(Membership, { accountId, personId }))
        throw new ConflictError('You belong to this account already.');
      await this.links.useInvitation(tx, invitation);
      await insertMembership(tx, { accountId, personId, role });
      await tx.query('DELETE FROM sign_in_links WHERE person_id = $1', [personId]);
      return await endSessions(tx, `person_id = $1 AND began_with = 'link'`, [personId]);
    });
    for (const ended of new Set(accountIds)) await this.versions.announce(ended);
    return invitation;
  }
}
