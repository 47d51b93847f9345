import { Body, Controller, Delete, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Actor, CurrentActor, CurrentPrincipal, RequireSession } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { NO_SESSION_COOKIE } from '../../access/session-cookie.js';
import { ConflictError, LimitExceededError, NotFoundError, PermissionError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { InvitationLinkDto } from './invitations.dto.js';
import { InviteesService } from './invitees.service.js';
import { MembersService } from './members.service.js';
import { BOUND_TO_ACCOUNT, MAX_MEMBERS } from './memberships.queries.js';
import type { SignedIn } from './sessions.controller.js';
import { presentMembership, SessionMembershipView } from './sessions.dto.js';
import { SessionsService } from './sessions.service.js';
import { NO_INVITATION } from './sign-in-links.service.js';

const BOUND = new PermissionError(null, BOUND_TO_ACCOUNT);

/** The accounts to which the person who has signed in belongs. */
@ApiTags('Sessions')
@Controller('v1/session/memberships')
export class MembershipsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly invitees: InviteesService,
    private readonly members: MembersService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Join an account
   *
   * @remarks
   * Makes the person who has signed in a member of one more account, with the link of an invitation. Ends links that sign in
   * this person, and sessions that began with one. Takes a session that began with the password.
   */
  @Post()
  @ApiErrors(
    new NotFoundError('invitation', NO_INVITATION),
    new ConflictError('You belong to this account already.'),
    new LimitExceededError('members', MAX_MEMBERS),
    BOUND,
  )
  @RequireSession()
  async create(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Body() { link }: InvitationLinkDto,
    @Query() _query: NoQuery,
  ): Promise<SessionMembershipView> {
    const { sessionId } = principal as SignedIn;
    const { session } = await this.sessions.details(sessionId);
    const { accountId, role } = await this.invitees.join(session, link);
    this.securityLog.record('member joined', { ...actor, account_id: accountId, session_id: sessionId, role });
    const { memberships } = await this.sessions.details(sessionId);
    const joined = memberships.find((membership) => membership.accountId === accountId);
    if (!joined) throw new NotFoundError('membership');
    return presentMembership(joined);
  }

  /**
   * Leave an account
   *
   * @remarks
   * Ends the person’s own membership, whatever the role, and the sessions that act for this account. The last owner cannot
   * leave. With the last membership the person is deleted. Takes a session.
   * @param id Identifier of the membership.
   */
  @Delete(':membership_id')
  @HttpCode(204)
  @ApiErrors(
    new NotFoundError('membership'),
    new ConflictError('This is the last owner of the account. Make somebody else an owner first.'),
    BOUND,
  )
  @RequireSession()
  async delete(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('membership_id') id: string,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const { session } = await this.sessions.details((principal as SignedIn).sessionId);
    const accountId = await this.members.leave(session, id);
    if (accountId === session.accountId) response.setHeader('Set-Cookie', NO_SESSION_COOKIE);
    this.securityLog.record('member removed', { ...actor, account_id: accountId, member_id: id });
  }
}
