import { Body, Controller, Delete, Get, Headers, HttpCode, Ip, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import {
  type Actor,
  CurrentActor,
  CurrentPrincipal,
  Public,
  RequireScope,
  RequireSession,
} from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { LimitExceededError, NotFoundError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { PageQuery } from '../../platform/http/page.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  AcceptInvitationDto,
  CreatedInvitationView,
  CreateInvitationDto,
  InvitationLinkDto,
  InvitationPage,
  OpenedInvitationView,
  presentCreatedInvitation,
  presentInvitationPage,
  presentOpenedInvitation,
} from './invitations.dto.js';
import { InvitationsService, MAX_INVITATIONS } from './invitations.service.js';
import { InviteesService } from './invitees.service.js';
import { MAX_MEMBERS } from './memberships.queries.js';
import { answerSignedIn, type SignedIn } from './sessions.controller.js';
import { presentSession, SessionView } from './sessions.dto.js';
import { NO_INVITATION } from './sign-in-links.service.js';

const UNUSABLE = new NotFoundError('invitation', NO_INVITATION);

@ApiTags('Members')
@Controller('v1/account/invitations')
export class InvitationsController {
  constructor(
    private readonly invitations: InvitationsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List invitations
   *
   * @remarks
   * Returns the invitations that nobody has accepted yet, newest first.
   */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: PageQuery): Promise<InvitationPage> {
    return presentInvitationPage(query, await this.invitations.list(accountId, query));
  }

  /**
   * Invite somebody
   *
   * @remarks
   * The response is the only one that shows the link; a service that sends mail sends it instead. It works once, within 7 days,
   * for whoever has it: the e-mail address is a name. Nobody gives a role that is higher than their own. An account can have 100 open invitations. Takes a session.
   */
  @Post()
  @ApiErrors(new LimitExceededError('open invitations', MAX_INVITATIONS))
  @RequireSession('account:write')
  async create(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Body() { email, role }: CreateInvitationDto,
    @Query() _query: NoQuery,
  ): Promise<CreatedInvitationView> {
    const { accountId, personId } = principal as SignedIn;
    const { invitation, token } = await this.invitations.create(accountId, { email, role }, personId);
    this.securityLog.record('invitation created', { ...actor, invitation_id: invitation.id, role });
    return presentCreatedInvitation(invitation, token);
  }

  /**
   * Withdraw an invitation
   *
   * @remarks
   * Its link works no longer. Takes a session.
   * @param id Identifier of the invitation.
   */
  @Delete(':invitation_id')
  @HttpCode(204)
  @ApiErrors(new NotFoundError('invitation'))
  @RequireSession('account:write')
  async delete(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('invitation_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.invitations.delete(accountId, id);
    this.securityLog.record('invitation withdrawn', { ...actor, invitation_id: id });
  }
}

@ApiTags('Members')
@Controller('v1/invitations')
export class InviteesController {
  constructor(
    private readonly invitees: InviteesService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Open an invitation
   *
   * @remarks
   * Tells who is invited to which account; the link can still be used. Takes no credentials; the rate limit is that of the
   * client's address.
   */
  @Post('open')
  @HttpCode(200)
  @ApiErrors(UNUSABLE)
  @Public()
  async open(@Body() { link }: InvitationLinkDto, @Query() _query: NoQuery): Promise<OpenedInvitationView> {
    return presentOpenedInvitation(await this.invitees.preview(link));
  }

  /**
   * Accept an invitation
   *
   * @remarks
   * Makes a new person a member of the account, and begins a session, as `POST /v1/sessions` does. Somebody who has signed in
   * already joins with `POST /v1/session/memberships`. Takes no credentials; the rate limit is that of the client's address.
   */
  @Post('accept')
  @ApiCreatedResponse({ type: SessionView })
  @ApiErrors(UNUSABLE, new LimitExceededError('members', MAX_MEMBERS))
  @Public()
  async accept(
    @Body() { link, name, password }: AcceptInvitationDto,
    @Ip() address: string,
    @Headers('user-agent') userAgent: string | undefined,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<SessionView> {
    const begun = await this.invitees.accept({ link, name, password }, { address, userAgent });
    const { role } = begun.details.membership;
    answerSignedIn(response, this.securityLog, begun, { role, address }, 'member joined');
    return presentSession(begun.details);
  }
}
