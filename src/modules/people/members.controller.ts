import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  type Actor,
  CurrentActor,
  CurrentPrincipal,
  RequireScope,
  RequireSession,
} from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { ConflictError, NotFoundError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { PageQuery } from '../../platform/http/page.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  CreatedSignInLinkView,
  MemberPage,
  MemberView,
  presentLink,
  presentMember,
  presentMemberPage,
  UpdateMemberDto,
} from './members.dto.js';
import { MembersService } from './members.service.js';
import type { SignedIn } from './sessions.controller.js';

const NO_MEMBER = new NotFoundError('member');
const LAST_OWNER = new ConflictError('This is the last owner of the account. Make somebody else an owner first.');
const OF_OTHERS = new ConflictError('This person belongs to other accounts as well.');

@ApiTags('Members')
@Controller('v1/account/members')
export class MembersController {
  constructor(
    private readonly members: MembersService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List members
   *
   * @remarks
   * Returns the people who belong to the account, oldest member first.
   */
  @Get()
  @RequireScope('account:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: PageQuery): Promise<MemberPage> {
    return presentMemberPage(query, await this.members.list(accountId, query));
  }

  /**
   * Change the role of a member
   *
   * @remarks
   * Holds from the next request of the member on. Nobody gives or takes a role that is higher than their own. Takes a
   * session.
   * @param id Identifier of the membership.
   */
  @Patch(':member_id')
  @ApiErrors(NO_MEMBER, LAST_OWNER)
  @RequireSession('account:write')
  async update(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('member_id') id: string,
    @Body() { role }: UpdateMemberDto,
    @Query() _query: NoQuery,
  ): Promise<MemberView> {
    const { accountId, personId } = principal as SignedIn;
    const member = await this.members.setRole(accountId, id, role, personId);
    this.securityLog.record('member changed', { ...actor, person_id: member.personId, role });
    return presentMember(member);
  }

  /**
   * Remove a member
   *
   * @remarks
   * Ends the person’s sessions in this account, and the invitations and links that the person has made, at once. Keys that
   * the person has made stay. Takes a session.
   * @param id Identifier of the membership.
   */
  @Delete(':member_id')
  @HttpCode(204)
  @ApiErrors(NO_MEMBER, LAST_OWNER)
  @RequireSession('account:write')
  async remove(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('member_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const { accountId, personId } = principal as SignedIn;
    await this.members.remove(accountId, id, personId);
    this.securityLog.record('member removed', { ...actor, member_id: id });
  }

  /**
   * Create a link that signs in a member
   *
   * @remarks
   * For a member who has forgotten the password. The link works once, within a day, and ends the one before. The service sends
   * it to the member, if it sends mail. 409 for a person who belongs to other accounts as well, or who signs in with an OpenID
   * provider: whoever has the link acts as this person. Takes a session.
   * @param id Identifier of the membership.
   */
  @Post(':member_id/links')
  @ApiErrors(NO_MEMBER, OF_OTHERS)
  @RequireSession('account:write')
  async createLink(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('member_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<CreatedSignInLinkView> {
    const { accountId, personId } = principal as SignedIn;
    const { link, isSent, personId: memberId } = await this.members.createLink(accountId, id, personId);
    this.securityLog.record('sign-in link created', { ...actor, person_id: memberId });
    return presentLink(link, isSent);
  }
}
