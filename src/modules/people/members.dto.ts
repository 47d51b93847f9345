import { ApiProperty } from '@nestjs/swagger';
import { type Role, ROLES } from '../../access/roles.js';
import { IsOneOf } from '../../platform/http/input/rules.js';
import { pageFields, PageFields, type PageQuery, type PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { Member } from './members.service.js';
import type { MadeLink } from './sign-in-links.service.js';

export class UpdateMemberDto {
  /** The next role of the member: not higher than that of the person who asks. */
  @IsOneOf(ROLES)
  role: Role;
}

export class MemberView {
  /** Id of the membership. */
  @ApiProperty({ example: '019aa5c7-0b2c-7d3e-8f4a-5b6c7d8e9fa0', format: 'uuid' })
  id: string;

  @ApiProperty({ example: '019aa5c7-0a1b-7c2d-8e3f-4a5b6c7d8e9f', format: 'uuid' })
  person_id: string;

  @ApiProperty({ example: 'Ada Byron' })
  name: string;

  @ApiProperty({ example: 'ada@example.com' })
  email: string;

  @ApiProperty({ enum: ROLES, example: 'editor' })
  role: Role;

  /** When the person became a member. */
  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  /** Of the sessions that act for the account, within a minute or so; null without one. */
  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:00' })
  last_seen_at: string | null;
}

export class MemberPage extends PageFields {
  members: MemberView[];
}

export class CreatedSignInLinkView {
  /** Path of the page that signs in, with the link behind `#link=`. Shown only here. Null where the service sends it by mail. */
  @ApiProperty({ type: String, nullable: true, example: '/#link=vnl_Qm3xT0cV8fKpYw2sLr7dNzB5hGjE1aXuIo9kRtM4vWc' })
  url: string | null;

  /** When the link ends, unless it was used before. */
  @ApiProperty({ example: '2026-11-22T10:15:00' })
  expires_at: string;
}

export const presentMember = (member: Member): MemberView => ({
  id: member.id,
  person_id: member.personId,
  name: member.name,
  email: member.email,
  role: member.role,
  created_at: resourceTime(member.createdAt),
  last_seen_at: member.lastSeenAt && resourceTime(member.lastSeenAt),
});

export const presentMemberPage = (query: PageQuery, found: PageResult<Member>): MemberPage => ({
  members: found.items.map(presentMember),
  ...pageFields('/v1/account/members', query, found),
});

/** @param isSent by mail, and so not shown */
export const presentLink = ({ token, expiresAt }: MadeLink, isSent: boolean): CreatedSignInLinkView => ({
  url: isSent ? null : `/#link=${token}`,
  expires_at: resourceTime(expiresAt),
});
