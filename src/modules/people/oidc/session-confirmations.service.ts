import { Injectable, Logger } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { SecretsService } from '../../../platform/secrets.service.js';
import { SessionsService } from '../sessions.service.js';
import { MembersOfProvidersService } from './members-of-providers.service.js';
import { OidcClientService, OidcRefusedError } from './oidc-client.service.js';

/** A provider is asked again after this long: who was disabled there is out within a minute, also if a process dies. */
export const CONFIRMED_SECONDS = 20;
/** Sessions outlive a provider that does not answer by this long. */
const GRACE_MINUTES = 10;

/** Seconds until the provider of a session has to be asked; null without one. @param session alias of the table */
export const confirmedFor = (session: string): string =>
  `extract(epoch FROM ${session}.checked_at + interval '${CONFIRMED_SECONDS} seconds' - now())::float8`;

interface DueSession {
  identityId: string;
  personId: string;
  subject: string;
  provider: string;
  token: string;
  isInGrace: boolean;
}

/** Asks OpenID providers whether the people whom they have signed in still may be (D102). */
@Injectable()
export class SessionConfirmationsService {
  private readonly logger = new Logger(SessionConfirmationsService.name);

  constructor(
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
    private readonly client: OidcClientService,
    private readonly members: MembersOfProvidersService,
    private readonly sessions: SessionsService,
  ) {}

  /** Whether the session is still valid. One request asks; others that come meanwhile are believed. */
  async confirm(sessionId: string): Promise<boolean> {
    const due = await this.claim(sessionId);
    if (!due) return true;
    const provider = this.client.providers.find(({ name }) => name === due.provider);
    if (!provider) return await this.refuse(due, 'the provider is not configured any more');
    const token = this.read(due);
    if (token === null) return await this.refuse(due, 'its token was encrypted under another SECRET_KEY');
    try {
      const found = await this.client.confirm(provider, due.subject, token);
      if ((await this.members.update(provider, due.personId, found)) === null)
        return await this.refuse(due, 'the person is in no group that has a role');
      await this.database.query('UPDATE sessions SET confirmed_at = now(), provider_token = $2 WHERE id = $1', [
        sessionId,
        this.secrets.encrypt(found.refreshToken ?? token, due.identityId),
      ]);
      return true;
    } catch (error) {
      if (error instanceof OidcRefusedError) return await this.refuse(due, error.message);
      this.logger.warn({ err: error, provider: due.provider }, 'an OpenID provider does not answer');
      return due.isInGrace;
    }
  }

  /** Null when another request has done so, or the session has ended. */
  private async claim(sessionId: string): Promise<DueSession | null> {
    const [due] = await this.database.query<DueSession>(
      `UPDATE sessions s SET checked_at = now() FROM identities i
       WHERE s.id = $1 AND i.id = s.identity_id AND ${confirmedFor('s')} <= 0
       RETURNING i.id AS "identityId", s.person_id AS "personId", i.subject, s.provider, s.provider_token AS token,
         s.confirmed_at > now() - interval '${GRACE_MINUTES} minutes' AS "isInGrace"`,
      [sessionId],
    );
    return due ?? null;
  }

  private read({ token, identityId }: DueSession): string | null {
    try {
      return this.secrets.decrypt(token, identityId);
    } catch {
      return null;
    }
  }

  private async refuse({ personId, identityId, provider }: DueSession, reason: string): Promise<false> {
    await this.sessions.endOfIdentity(personId, identityId);
    this.logger.log({ identity_id: identityId, provider, reason }, 'sessions ended by an OpenID provider');
    return false;
  }
}
