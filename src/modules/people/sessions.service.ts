import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { raiseCredentialVersion } from '../../access/accounts.queries.js';
import { recordChanges } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Role } from '../../access/roles.js';
import { isLiveSession } from '../../access/sessions.queries.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { AuthenticationError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import type { PageQuery, PageResult } from '../../platform/http/page.js';
import { BOUND_TO_ACCOUNT, endSessions } from './memberships.queries.js';
import { Person } from './person.entity.js';
import { Session, sessionChange } from './session.entity.js';

/** Of one person; the oldest ends when there would be more. */
const MAX_SESSIONS = 50;

export interface MembershipDetails {
  id: string;
  accountId: string;
  accountName: string;
  role: Role;
}

/** A session, with all that its person sees of it. */
export interface SessionDetails {
  session: Session;
  person: Person;
  /** Of the account for which it acts. */
  membership: MembershipDetails;
  /** All of the person, by the names of the accounts. */
  memberships: MembershipDetails[];
}

/** A session that has begun, and its token, which is not stored. */
export interface BegunSession {
  token: string;
  details: SessionDetails;
}

/** Sessions that have begun, until they end (D97). */
@Injectable()
export class SessionsService {
  constructor(
    @InjectRepository(Session) private readonly sessions: Repository<Session>,
    @InjectRepository(Person) private readonly people: Repository<Person>,
    private readonly database: DatabaseService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /** With one more, the oldest of the person end. @throws AuthenticationError when it has ended meanwhile */
  async begun({ token, session }: { token: string; session: Session }): Promise<BegunSession> {
    await this.endWhere(
      `id IN (SELECT id FROM sessions WHERE person_id = $1 ORDER BY created_at DESC, id DESC OFFSET ${MAX_SESSIONS})`,
      [session.personId],
    );
    return { token, details: await this.details(session.id) };
  }

  /** @throws AuthenticationError when it has ended meanwhile */
  async details(sessionId: string): Promise<SessionDetails> {
    const session = await this.sessions.findOneBy({ id: sessionId });
    const person = session && (await this.findPerson(session.personId));
    const memberships = person ? await membershipsOf(this.database, person.id) : [];
    const membership = memberships.find(({ accountId }) => accountId === session?.accountId);
    if (!session || !person || !membership) throw new AuthenticationError();
    return { session, person, membership, memberships };
  }

  /** Those of the person that have not ended, newest first. */
  async list(personId: string, { page, limit }: PageQuery): Promise<PageResult<Session>> {
    const [items, total] = await this.sessions
      .createQueryBuilder('s')
      .where({ personId })
      .andWhere(isLiveSession('s'))
      .orderBy('s.createdAt', 'DESC')
      .addOrderBy('s.id', 'DESC')
      .skip(page * limit)
      .take(limit)
      .getManyAndCount();
    return { items, total };
  }

  /** From the next request on it acts for another account of the person. @throws NotFoundError, PermissionError */
  async switchTo(sessionId: string, personId: string, accountId: string): Promise<void> {
    const session = await this.sessions.findOneBy({ id: sessionId });
    if (!session) throw new AuthenticationError();
    const memberships = await membershipsOf(this.database, personId);
    if (!memberships.some((membership) => membership.accountId === accountId)) throw new NotFoundError('account');
    if (session.beganWith === 'link' && accountId !== session.accountId)
      throw new PermissionError(null, BOUND_TO_ACCOUNT);
    // Other processes have it in their memory, with the account before.
    await this.versions.change(session.accountId, async (tx) => {
      await tx.manager.update(Session, { id: sessionId }, { accountId });
      await raiseCredentialVersion(tx, session.accountId);
      if (session.accountId === accountId) return;
      const begun = { ...sessionChange({ id: sessionId, accountId }, 'session.begun'), after: { with: 'switch' } };
      await recordChanges(tx, sessionChange(session, 'session.ended'), begun);
    });
  }

  /** @throws NotFoundError */
  async end(personId: string, sessionId: string): Promise<void> {
    const ended = isResourceId(sessionId)
      ? await this.endWhere(`id = $1 AND person_id = $2 AND ${isLiveSession('sessions')}`, [sessionId, personId])
      : 0;
    if (ended === 0) throw new NotFoundError('session');
  }

  /** Those of the person that began with this identity. */
  async endOfIdentity(personId: string, identityId: string): Promise<void> {
    await this.endWhere('person_id = $1 AND identity_id = $2', [personId, identityId]);
  }

  private findPerson(id: string): Promise<Person | null> {
    return this.people.findOne({ where: { id }, select: { id: true, name: true, email: true, passwordHash: true } });
  }

  /** Every process refuses them from its next request on. @param condition SQL @returns how many there were */
  private async endWhere(condition: string, parameters: unknown[]): Promise<number> {
    const accountIds = await this.database.transact((tx) => endSessions(tx, condition, parameters));
    for (const id of new Set(accountIds)) await this.versions.announce(id);
    return accountIds.length;
  }
}

/** SQL, because accounts belong to another module. */
async function membershipsOf(runner: Pick<DatabaseService, 'query'>, personId: string): Promise<MembershipDetails[]> {
  return await runner.query(
    `SELECT m.id, m.account_id AS "accountId", a.name AS "accountName", m.role
     FROM memberships m JOIN accounts a ON a.id = m.account_id WHERE m.person_id = $1 ORDER BY a.name, m.id`,
    [personId],
  );
}
