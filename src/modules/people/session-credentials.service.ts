import { hash } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type Role, scopesOf } from '../../access/roles.js';
import type { Scope } from '../../access/scopes.js';
import { IDLE_DAYS, isLiveSession } from '../../access/sessions.queries.js';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { DelayedWrite } from '../../platform/concurrency/delayed-write.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { CONFIRMED_SECONDS, confirmedFor, SessionConfirmationsService } from './oidc/session-confirmations.service.js';

const TOKEN = /^vnss_[\w-]{43}$/;
/** Sessions looked up by one statement, and the pause between two: unknown tokens may be anybody's guesses. */
const MAX_UNKNOWN = 500;
const UNKNOWN_PAUSE_MS = 10;
/** How exactly `last_seen_at` is kept. */
const SEEN_MS = 60_000;
const FLUSH_MS = 2000;
const IDLE_MS = IDLE_DAYS * 86_400_000;

/** What the guards need to know of a session that has not ended. */
export interface SessionCredential {
  id: string;
  personId: string;
  accountId: string;
  scopes: readonly Scope[];
  lastSeenAt: Date;
  /** When it has to be read again: it ends then, unless it was seen since. */
  expiresAt: Date;
  /** `accounts.credential_version` when this was read. */
  version: number;
  /** Its OpenID provider has to be asked again. */
  isDue: boolean;
}

/** What the guards ask about sessions: whether one is valid. It also writes when each was last seen. */
@Injectable()
export class SessionCredentialsService implements OnApplicationShutdown {
  private readonly logger = new Logger(SessionCredentialsService.name);
  private readonly findUnknown = coalesce((hashes: readonly string[]) => findSessions(this.database, hashes), {
    maxItems: MAX_UNKNOWN,
    pauseMs: UNKNOWN_PAUSE_MS,
  });
  private seen = new Set<string>();
  private readonly seenWrite = new DelayedWrite(FLUSH_MS, () => this.writeSeen());

  constructor(
    private readonly database: DatabaseService,
    private readonly confirmations: SessionConfirmationsService,
  ) {}

  /** By what a session is found; null for what is no token. */
  hashOf(token: string): string | null {
    return TOKEN.test(token) ? hashOfToken(token) : null;
  }

  /** Null for a session that is unknown, has ended, or acts for an account that its person has left. */
  async find(tokenHash: string, { isKnown }: { isKnown: boolean }): Promise<SessionCredential | null> {
    const found = isKnown ? (await findSessions(this.database, [tokenHash]))[0] : await this.findUnknown(tokenHash);
    if (!found?.isDue) return found ?? null;
    return (await this.confirmations.confirm(found.id)) ? found : null;
  }

  /** Written later, at most once a minute for each session. */
  countUse(session: SessionCredential): void {
    if (Date.now() - session.lastSeenAt.getTime() < SEEN_MS) return;
    session.lastSeenAt = new Date();
    this.seen.add(session.id);
    this.seenWrite.schedule();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.seenWrite.flush();
  }

  private async writeSeen(): Promise<void> {
    const ids = [...this.seen];
    if (ids.length === 0) return;
    this.seen = new Set();
    try {
      await writeLastSeen(this.database, ids);
    } catch (error) {
      this.logger.warn({ err: error }, 'last use of sessions not written; retrying');
      for (const id of ids) this.seen.add(id);
      this.seenWrite.schedule();
    }
  }
}

export const hashOfToken = (token: string): string => hash('sha256', token, 'hex');

interface FoundSession extends Omit<SessionCredential, 'scopes' | 'isDue'> {
  tokenHash: string;
  role: Role;
  /** Seconds until its provider has to be asked; null without a provider. */
  confirmedFor: number | null;
}

/** In the order of the hashes. SQL, because it is prepared and reads the version of the account in the same snapshot. */
async function findSessions(
  database: DatabaseService,
  hashes: readonly string[],
): Promise<(SessionCredential | null)[]> {
  const found = await database.prepared<FoundSession>(
    `SELECT s.token_hash AS "tokenHash", s.id, s.person_id AS "personId", s.account_id AS "accountId", m.role,
       s.last_seen_at AS "lastSeenAt", s.expires_at AS "expiresAt", a.credential_version AS version,
       ${confirmedFor('s')} AS "confirmedFor"
     FROM sessions s JOIN accounts a ON a.id = s.account_id
       JOIN memberships m ON m.person_id = s.person_id AND m.account_id = s.account_id
     WHERE s.token_hash = ANY ($1::text[]) AND ${isLiveSession('s')}`,
    [hashes],
  );
  const byHash = new Map(
    found.map(({ tokenHash, role, expiresAt, confirmedFor: seconds, ...session }) => {
      const isDue = seconds !== null && seconds <= 0;
      const confirmedUntil = seconds === null ? Infinity : Date.now() + (isDue ? CONFIRMED_SECONDS : seconds) * 1000;
      const end = Math.min(expiresAt.getTime(), session.lastSeenAt.getTime() + IDLE_MS, confirmedUntil);
      return [tokenHash, { ...session, scopes: scopesOf(role), expiresAt: new Date(end), isDue }];
    }),
  );
  return hashes.map((tokenHash) => byHash.get(tokenHash) ?? null);
}

/** SQL, because of the clock of the database. Locked in the order of their ids, so that two processes cannot deadlock. */
async function writeLastSeen(database: DatabaseService, ids: readonly string[]): Promise<void> {
  await database.query(
    `UPDATE sessions s SET last_seen_at = now()
     FROM (SELECT id FROM sessions WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE) seen WHERE s.id = seen.id`,
    [ids],
  );
}
