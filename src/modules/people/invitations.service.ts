import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Repository } from 'typeorm';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import type { Role } from '../../access/roles.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { LimitExceededError, NotFoundError } from '../../platform/errors/errors.js';
import type { PageQuery, PageResult } from '../../platform/http/page.js';
import { SignInMailsService } from './mails/sign-in-mails.service.js';
import { lockMembers, refuseHigherRoles } from './memberships.queries.js';
import { SignInLink } from './sign-in-link.entity.js';
import { SignInLinksService } from './sign-in-links.service.js';

/** Of one account, which nobody has accepted yet. */
export const MAX_INVITATIONS = 100;
const INVITATION_DAYS = 7;

/** Links with which somebody becomes a member of an account (D99). */
@Injectable()
export class InvitationsService {
  constructor(
    @InjectRepository(SignInLink) private readonly invitations: Repository<SignInLink>,
    private readonly database: DatabaseService,
    private readonly links: SignInLinksService,
    private readonly mails: SignInMailsService,
  ) {}

  /**
   * @param editorId the person who asks
   * @returns the invitation, and the token of its link, if it is not sent by mail
   * @throws PermissionError, LimitExceededError, RateLimitError
   */
  async create(
    accountId: string,
    { email, role }: { email: string; role: Role },
    editorId: string,
  ): Promise<{ invitation: SignInLink; token: string | null }> {
    return await this.database.transact(async (tx) => {
      await lockMembers(tx, accountId);
      await refuseHigherRoles(tx, accountId, editorId, role);
      const by = { createdByPerson: editorId };
      const link = await this.links.create(tx, { accountId, email, role, days: INVITATION_DAYS, ...by });
      const { id } = link;
      if ((await tx.manager.countBy(SignInLink, { accountId, personId: IsNull() })) > MAX_INVITATIONS)
        throw new LimitExceededError('open invitations', MAX_INVITATIONS);
      if (this.mails.isOn) await this.mails.add(tx, link, email);
      await recordChanges(tx, { ...changeOf(accountId, id, 'invitation.created'), after: { role } });
      return {
        invitation: await tx.manager.findOneByOrFail(SignInLink, { id }),
        token: this.mails.isOn ? null : link.token,
      };
    });
  }

  /** Those that are open, newest first. */
  async list(accountId: string, { page, limit }: PageQuery): Promise<PageResult<SignInLink>> {
    const [items, total] = await this.invitations.findAndCount({
      where: { accountId, personId: IsNull(), expiresAt: MoreThan(new Date()) },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /** Nobody can accept it any more. @throws NotFoundError */
  async delete(accountId: string, id: string): Promise<void> {
    if (!isResourceId(id)) throw new NotFoundError('invitation');
    await this.database.transact(async (tx) => {
      const { affected } = await tx.manager.delete(SignInLink, { id, accountId, personId: IsNull() });
      if (!affected) throw new NotFoundError('invitation');
      await recordChanges(tx, changeOf(accountId, id, 'invitation.withdrawn'));
    });
  }
}

const changeOf = (accountId: string, id: string, action: string) => ({
  accountId,
  action,
  targets: [auditTarget('invitation', id)],
});
