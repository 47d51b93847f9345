import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { setSigningIn } from '../../../access/acting.js';
import { CredentialVersionsService } from '../../../access/credential-versions.service.js';
import type { Role } from '../../../access/roles.js';
import type { Tx } from '../../../platform/database/database.service.js';
import { lockByName } from '../../../platform/database/locks.js';
import { Membership } from '../membership.entity.js';
import { insertMembership, lockMembers, updateRole } from '../memberships.queries.js';
import { Person } from '../person.entity.js';
import { Identity } from './identity.entity.js';
import type { OidcSubject } from './oidc-client.service.js';
import { type OidcProvider, roleOf } from './providers.js';

const MAX_NAME = 100;
const MAX_EMAIL = 254;

/** Makes people and memberships what an OpenID provider says of them (D102). */
@Injectable()
export class MembersOfProvidersService {
  constructor(private readonly versions: CredentialVersionsService) {}

  /**
   * Finds the person by issuer and subject alone, or makes a new one, and lets `then` go on in the same transaction.
   * @returns null for a stranger to the account
   */
  async enter<T>(
    provider: OidcProvider,
    found: OidcSubject,
    then: (tx: Tx, identity: { id: string; personId: string }) => Promise<T>,
  ): Promise<T | null> {
    const role = roleOf(provider, found.claims);
    if (role === null) return null;
    const { accountId } = provider;
    return await this.versions.change(accountId, async (tx) => {
      const accounts = await tx.query('SELECT FROM accounts WHERE id = $1 FOR KEY SHARE', [accountId]);
      if (accounts.length === 0) return null;
      // Two first sign-ins of one person, also at the same time, make one person.
      await lockMembers(tx, accountId);
      await lockByName(tx, `identity:${found.issuer}:${found.subject}`);
      const { issuer, subject } = found;
      const known = await tx.manager.findOneBy(Identity, { issuer, subject });
      const identity = known ?? (await insertPerson(tx, found));
      if (known) await updatePerson(tx, known.personId, found);
      setSigningIn(identity.personId);
      await setRole(tx, accountId, identity.personId, role);
      return await then(tx, identity);
    });
  }

  /** @returns the role of the person by now; null for a stranger to the account */
  async update(provider: OidcProvider, personId: string, found: OidcSubject): Promise<Role | null> {
    const role = roleOf(provider, found.claims);
    if (role === null) return null;
    return await this.versions.change(provider.accountId, async (tx) => {
      await lockMembers(tx, provider.accountId);
      await updatePerson(tx, personId, found);
      await setRole(tx, provider.accountId, personId, role);
      return role;
    });
  }
}

async function insertPerson(tx: Tx, found: OidcSubject): Promise<Identity> {
  const createdAt = new Date();
  const personId = uuidv7();
  const person = { passwordHash: null, passwordSalt: null, createdAt, updatedAt: createdAt };
  await tx.manager.insert(Person, { id: personId, ...profileOf(found), ...person });
  const identity = { id: uuidv7(), personId, issuer: found.issuer, subject: found.subject, createdAt };
  await tx.manager.insert(Identity, identity);
  return identity;
}

/** A password is hashed with a salt of the address, which then stays. */
async function updatePerson(tx: Tx, personId: string, found: OidcSubject): Promise<void> {
  const { name, email } = profileOf(found);
  await tx.query(
    `UPDATE people SET name = $2, email = CASE WHEN password_hash IS NULL THEN $3 ELSE email END, updated_at = now()
     WHERE id = $1 AND (name <> $2 OR (email <> $3 AND password_hash IS NULL))`,
    [personId, name, email],
  );
}

/** Under `lockMembers`. The last owner stays one, whatever the provider says. Nothing is written if nothing changes. */
async function setRole(tx: Tx, accountId: string, personId: string, role: Role): Promise<void> {
  const member = await tx.manager.findOneBy(Membership, { accountId, personId });
  if (!member) return await insertMembership(tx, { accountId, personId, role });
  const isLastOwner =
    member.role === 'owner' && (await tx.manager.countBy(Membership, { accountId, role: 'owner' })) === 1;
  if (!isLastOwner) await updateRole(tx, member, role);
}

/** What has no name is called by its address, or else by its subject. */
function profileOf({ claims, subject }: OidcSubject): { name: string; email: string } {
  const text = (claim: string): string => {
    const value = claims[claim];
    return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed().trim() : '';
  };
  const email = text('email').slice(0, MAX_EMAIL);
  const name = text('name') || text('preferred_username') || email || subject;
  return { name: name.slice(0, MAX_NAME).toWellFormed(), email };
}
