import { Body, Controller, Delete, Get, Headers, HttpCode, Ip, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Actor, CurrentActor, CurrentPrincipal, Public, RequireSession } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NO_SESSION_COOKIE, sessionCookie } from '../../access/session-cookie.js';
import { AuthenticationError, NotFoundError, PermissionError, RateLimitError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { PageQuery } from '../../platform/http/page.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { ProfilesService } from './profiles.service.js';
import {
  CreateSessionDto,
  presentSession,
  presentSessionPage,
  SessionPage,
  SessionView,
  UpdatePersonDto,
  UpdateSessionDto,
} from './sessions.dto.js';
import { type BegunSession, SessionsService } from './sessions.service.js';
import { SignInsService, WRONG_PASSWORD } from './sign-ins.service.js';

export const OTHER_ORIGIN = new PermissionError(null, 'A session is for the pages of this service.');

/** The principal of a handler that requires a session. */
export type SignedIn = Principal & { sessionId: string; personId: string };

/** Gives the browser the cookie of its session, and records who has come. */
export function answerSignedIn(
  response: Response,
  securityLog: SecurityLogService,
  { token, details: { session } }: BegunSession,
  fields: Record<string, string | undefined>,
  event = 'signed in',
): void {
  response.appendHeader('Set-Cookie', sessionCookie(token, session.expiresAt));
  securityLog.record(event, {
    account_id: session.accountId,
    by: 'person',
    by_person_id: session.personId,
    session_id: session.id,
    ...fields,
  });
}

@ApiTags('Sessions')
@Controller('v1/sessions')
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly signIns: SignInsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Sign in
   *
   * @remarks
   * Begins a session of a person, with the e-mail address and the password, or with a link for one use. The cookie of the
   * answer is a credential for all other operations, within the scopes of the person's role. Takes no credentials; the rate
   * limit is that of the client's address, and attempts are limited further.
   */
  @Post()
  @ApiCreatedResponse({ type: SessionView })
  @ApiErrors(new AuthenticationError(WRONG_PASSWORD), new RateLimitError(60))
  @Public()
  async create(
    @Body() dto: CreateSessionDto,
    @Ip() address: string,
    @Headers('user-agent') userAgent: string | undefined,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<SessionView> {
    const begun = await this.signIns.begin(dto, { address, userAgent });
    answerSignedIn(response, this.securityLog, begun, { with: begun.details.session.beganWith, address });
    return presentSession(begun.details);
  }

  /**
   * List one’s own sessions
   *
   * @remarks
   * Returns the sessions of the person that have not ended, newest first. Takes a session.
   */
  @Get()
  @RequireSession()
  async list(@CurrentPrincipal() principal: Principal, @Query() query: PageQuery): Promise<SessionPage> {
    const { personId, sessionId } = principal as SignedIn;
    return presentSessionPage(query, await this.sessions.list(personId, query), sessionId);
  }

  /**
   * End a session
   *
   * @remarks
   * Ends one of the person’s own sessions at once: the next request with it is refused. Takes a session.
   * @param id Identifier of the session.
   */
  @Delete(':session_id')
  @HttpCode(204)
  @ApiErrors(new NotFoundError('session'), OTHER_ORIGIN)
  @RequireSession()
  async end(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('session_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.sessions.end((principal as SignedIn).personId, id);
    this.securityLog.record('session ended', { ...actor, session_id: id });
  }
}

@ApiTags('Sessions')
@Controller('v1/session')
export class CurrentSessionController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly profiles: ProfilesService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Get the session
   *
   * @remarks
   * Returns who has signed in, for which account the session acts, and what it may do there. Takes a session.
   */
  @Get()
  @RequireSession()
  async get(@CurrentPrincipal() principal: Principal, @Query() _query: NoQuery): Promise<SessionView> {
    return presentSession(await this.sessions.details((principal as SignedIn).sessionId));
  }

  /**
   * Switch the account
   *
   * @remarks
   * Makes the session act for another account of the person, from the next request on. Takes a session.
   */
  @Patch()
  @ApiErrors(new NotFoundError('account'), OTHER_ORIGIN)
  @RequireSession()
  async update(
    @CurrentPrincipal() principal: Principal,
    @Body() { account_id: accountId }: UpdateSessionDto,
    @Query() _query: NoQuery,
  ): Promise<SessionView> {
    const { sessionId, personId } = principal as SignedIn;
    await this.sessions.switchTo(sessionId, personId, accountId);
    return presentSession(await this.sessions.details(sessionId));
  }

  /**
   * Sign out
   *
   * @remarks
   * Ends the session of this request at once. Takes a session.
   */
  @Delete()
  @HttpCode(204)
  @ApiErrors(OTHER_ORIGIN)
  @RequireSession()
  async delete(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const { sessionId, personId } = principal as SignedIn;
    await this.sessions.end(personId, sessionId);
    response.setHeader('Set-Cookie', NO_SESSION_COOKIE);
    this.securityLog.record('session ended', { ...actor, session_id: sessionId });
  }

  /**
   * Update oneself
   *
   * @remarks
   * Changes the name, the e-mail address or the password of the person who has signed in. Takes a session.
   */
  @Patch('person')
  @ApiErrors(OTHER_ORIGIN, new RateLimitError(60))
  @RequireSession()
  async updatePerson(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Body() { name, email, password, current_password: currentPassword }: UpdatePersonDto,
    @Query() _query: NoQuery,
  ): Promise<SessionView> {
    const { sessionId } = principal as SignedIn;
    const { session } = await this.sessions.details(sessionId);
    await this.profiles.update(session, { name, email, password, currentPassword }, actor.address);
    const given = Object.entries({ name, email, password }).filter(([, value]) => value !== undefined);
    this.securityLog.record('person changed', { ...actor, fields: given.map(([field]) => field) });
    return presentSession(await this.sessions.details(sessionId));
  }
}
