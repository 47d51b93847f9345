import { ApiProperty } from '@nestjs/swagger';
import { type Role, ROLES } from '../../access/roles.js';
import { IsEmail, IsOmittable, IsOneOf, IsText } from '../../platform/http/input/rules.js';
import { pageFields, PageFields, type PageQuery, type PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { InvitationPreview } from './invitees.service.js';
import { MAX_PASSWORD } from './sessions.dto.js';
import type { SignInLink } from './sign-in-link.entity.js';

const EXAMPLE_LINK = 'vni_Qm3xT0cV8fKpYw2sLr7dNzB5hGjE1aXuIo9kRtM4vWc';
const EXPIRES_AT = '2026-11-28T10:15:00';

export class CreateInvitationDto {
  /**
   * E-mail address of the person who is invited.
   * @example ada@example.com
   */
  @IsEmail()
  email: string;

  /** Role of the person in the account: not higher than that of the person who asks. */
  @IsOneOf(ROLES)
  role: Role;
}

export class InvitationLinkDto {
  /**
   * What follows `#invitation=` in the link.
   * @example vni_Qm3xT0cV8fKpYw2sLr7dNzB5hGjE1aXuIo9kRtM4vWc
   */
  @IsText(1, 100)
  link: string;
}

export class AcceptInvitationDto extends InvitationLinkDto {
  /** Name of the person. */
  @ApiProperty({ example: 'Ada Byron' })
  @IsText(1, 100)
  name: string;

  /** Password with which the person signs in from now on. Required, unless `ways` of the service has no `password`. */
  @ApiProperty({ example: 'three blue kites over Oslo' })
  @IsOmittable()
  @IsText(12, MAX_PASSWORD)
  password?: string;
}

export class InvitationView {
  @ApiProperty({ example: '019aa5c9-3d4e-7f5a-8b6c-7d8e9fa0b1c2', format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'ada@example.com' })
  email: string;

  @ApiProperty({ enum: ROLES, example: 'editor' })
  role: Role;

  /** The person who has made it. */
  @ApiProperty({ type: String, nullable: true, example: '019aa5c7-0a1b-7c2d-8e3f-4a5b6c7d8e9f', format: 'uuid' })
  created_by_person: string | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: EXPIRES_AT })
  expires_at: string;
}

export class CreatedInvitationView extends InvitationView {
  /**
   * Path of the page that accepts the invitation, with its link behind `#invitation=`. Shown only here. Null where the
   * service sends it by mail.
   */
  @ApiProperty({ type: String, nullable: true, example: `/#invitation=${EXAMPLE_LINK}` })
  url: string | null;
}

export class InvitationPage extends PageFields {
  invitations: InvitationView[];
}

export class OpenedInvitationView {
  @ApiProperty({ example: 'Example Ltd' })
  account_name: string;

  @ApiProperty({ example: 'ada@example.com' })
  email: string;

  @ApiProperty({ enum: ROLES, example: 'editor' })
  role: Role;

  @ApiProperty({ example: EXPIRES_AT })
  expires_at: string;
}

const presentInvitation = (invitation: SignInLink): InvitationView => ({
  id: invitation.id,
  email: invitation.email ?? '',
  role: invitation.role ?? 'viewer',
  created_by_person: invitation.createdByPerson,
  created_at: resourceTime(invitation.createdAt),
  expires_at: resourceTime(invitation.expiresAt),
});

export const presentCreatedInvitation = (invitation: SignInLink, token: string | null): CreatedInvitationView => ({
  ...presentInvitation(invitation),
  url: token && `/#invitation=${token}`,
});

export const presentInvitationPage = (query: PageQuery, found: PageResult<SignInLink>): InvitationPage => ({
  invitations: found.items.map(presentInvitation),
  ...pageFields('/v1/account/invitations', query, found),
});

export const presentOpenedInvitation = (invitation: InvitationPreview): OpenedInvitationView => ({
  account_name: invitation.accountName,
  email: invitation.email,
  role: invitation.role,
  expires_at: resourceTime(invitation.expiresAt),
});
