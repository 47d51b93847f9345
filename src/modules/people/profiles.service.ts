import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { AuthenticationError, InvalidRequestError } from '../../platform/errors/errors.js';
import { Membership } from './membership.entity.js';
import { endSessions, lockPerson } from './memberships.queries.js';
import { isOfProvider, removePasskeys } from './passkeys/passkeys.queries.js';
import { PasswordsService } from './passwords.service.js';
import { Person } from './person.entity.js';
import { Session } from './session.entity.js';
import { SignInWaysService } from './sign-in-ways.service.js';
import { SignInsService } from './sign-ins.service.js';

/** What is undefined stays. */
export interface ProfileChanges {
  name?: string | undefined;
  email?: string | undefined;
  password?: string | undefined;
  currentPassword?: string | undefined;
}

/** What people change of themselves. */
@Injectable()
export class ProfilesService {
  constructor(
    @InjectRepository(Person) private readonly people: Repository<Person>,
    private readonly database: DatabaseService,
    private readonly passwords: PasswordsService,
    private readonly signIns: SignInsService,
    private readonly ways: SignInWaysService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /**
   * A new password, and a new e-mail address, take the current password, except in a session that began with a link: so a
   * forgotten password is replaced, and all passkeys are removed. A new password ends all other sessions of the person, and
   * the links that sign in.
   * @param address of the client, whose guesses are limited
   * @throws InvalidRequestError, RateLimitError, SignInWayOffError
   */
  async update(session: Session, changes: ProfileChanges, address: string | undefined): Promise<void> {
    const { name, email, password, currentPassword } = changes;
    const person = await this.find(session.personId);
    if (await isOfProvider(this.database, person.id)) refuseOfProvider({ name, email, password });
    if (password !== undefined) this.ways.require('password');
    const isOtherEmail = email !== undefined && email.toLowerCase() !== person.email.toLowerCase();
    if (password !== undefined)
      this.passwords.refuseCommon(password, { name: name ?? person.name, email: email ?? person.email });
    const hasPassword = person.passwordHash !== null;
    if (currentPassword !== undefined && hasPassword) await this.verify(person, currentPassword, address);
    else if (hasPassword && (isOtherEmail || (password !== undefined && session.beganWith !== 'link')))
      throw new InvalidRequestError({ field: 'current_password', reason: 'is required' });
    const fields = {
      ...(name !== undefined && { name }),
      ...(email !== undefined && { email }),
      updatedAt: new Date(),
    };
    // Passwords of one address have one salt, so that another address takes another hash.
    const stored = password ?? (isOtherEmail && hasPassword ? currentPassword : undefined);
    const changed = [
      ...(name !== undefined && name !== person.name ? ['name'] : []),
      ...(email !== undefined && email !== person.email ? ['email'] : []),
      ...(password === undefined ? [] : ['password']),
    ];
    if (stored === undefined) {
      await this.database.transact(async (tx) => {
        await tx.manager.update(Person, { id: person.id }, fields);
        await recordUpdate(tx, person.id, changed);
      });
      return;
    }
    const accountIds = await this.passwords.change(email ?? person.email, stored, async (tx, { hash, salt }) => {
      await lockPerson(tx, person.id);
      // Another password, or another account of the person, may have ended it meanwhile.
      if (!(await tx.manager.existsBy(Session, { id: session.id }))) throw new AuthenticationError();
      await tx.manager.update(Person, { id: person.id }, { ...fields, passwordHash: hash, passwordSalt: salt });
      await recordUpdate(tx, person.id, changed);
      if (password === undefined) return [];
      await removeLinks(tx, person.id);
      // Whoever made the link might have signed in with an earlier one, and added them.
      if (session.beganWith === 'link') await removePasskeys(tx, person.id);
      return await endSessions(tx, 'person_id = $1 AND id <> $2', [person.id, session.id]);
    });
    for (const accountId of new Set(accountIds)) await this.versions.announce(accountId);
  }

  private async find(id: string): Promise<Person> {
    const person = await this.people.findOne({
      where: { id },
      select: { id: true, name: true, email: true, passwordHash: true },
    });
    if (!person) throw new AuthenticationError();
    return person;
  }

  private async verify({ id, email }: Person, password: string, address: string | undefined): Promise<void> {
    await this.signIns.limitAttempts(email, address);
    if (await this.passwords.isOf(id, password)) return;
    throw new InvalidRequestError({ field: 'current_password', reason: 'is not the password of this person' });
  }
}

/** What a provider says at each sign-in; a password would let in whom the provider keeps out. */
function refuseOfProvider(changes: Record<string, string | undefined>): void {
  const field = Object.keys(changes).find((name) => changes[name] !== undefined);
  if (field !== undefined)
    throw new InvalidRequestError({ field, reason: 'must be changed at the provider with which this person signs in' });
}

/** Those that sign in the person, and no invitations. */
async function removeLinks(tx: Tx, personId: string): Promise<void> {
  await tx.query('DELETE FROM sign_in_links WHERE person_id = $1', [personId]);
}

/** In the log of each account to which the person belongs. It names what has changed, and no name nor address. */
async function recordUpdate(tx: Tx, personId: string, fields: string[]): Promise<void> {
  if (fields.length === 0) return;
  const memberships = await tx.manager.find(Membership, { where: { personId }, select: { accountId: true } });
  const change = { action: 'person.updated', targets: [auditTarget('person', personId)], after: { fields } };
  await recordChanges(tx, ...memberships.map(({ accountId }) => ({ accountId, ...change })));
}
