import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type Role, ROLES, scopesOf } from '../../access/roles.js';
import { type Scope, SCOPES } from '../../access/scopes.js';
import { IsEmail, IsOmittable, IsText } from '../../platform/http/input/rules.js';
import { PageFields, pageFields, type PageQuery, type PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { type Session, SESSION_BEGINNINGS, type SessionBeginning } from './session.entity.js';
import type { MembershipDetails, SessionDetails } from './sessions.service.js';

export const MAX_PASSWORD = 200;

/** All of it goes into the schema, though the type names the description alone. */
const EITHER = {
  description: 'Either `link`, or `email` and `password`.',
  oneOf: [{ required: ['link'] }, { required: ['email', 'password'] }],
};

@ApiSchema(EITHER)
export class CreateSessionDto {
  /**
   * E-mail address of the person. With `password`, in place of `link`.
   * @example ada@example.com
   */
  @IsOmittable()
  @IsText(1, 254)
  email?: string;

  /**
   * Password of the person.
   * @example three blue kites over Oslo
   */
  @IsOmittable()
  @IsText(1, MAX_PASSWORD)
  password?: string;

  /**
   * A link for one use, in place of both: what follows `#` in it.
   * @example vnl_Qm3xT0cV8fKpYw2sLr7dNzB5hGjE1aXuIo9kRtM4vWc
   */
  @IsOmittable()
  @IsText(1, 100)
  link?: string;
}

export class UpdateSessionDto {
  /**
   * Account of the person for which the session acts from the next request on.
   * @example 019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d
   */
  @IsText(1, 100)
  account_id: string;
}

export class RequestSignInLinkDto {
  /**
   * E-mail address of the person.
   * @example ada@example.com
   */
  @IsEmail()
  email: string;
}

export class UpdatePersonDto {
  /**
   * Name of the person.
   * @example Ada Byron
   */
  @IsOmittable()
  @IsText(1, 100)
  name?: string;

  /**
   * E-mail address of the person. Another one takes `current_password`, if there is a password.
   * @example ada@example.com
   */
  @IsOmittable()
  @IsEmail()
  email?: string;

  /**
   * A new password. Ends all other sessions of the person. Takes `current_password`, if there is one, but not in a session
   * that began with a link.
   * @example three blue kites over Oslo
   */
  @IsOmittable()
  @IsText(12, MAX_PASSWORD)
  password?: string;

  /** The password until now. */
  @IsOmittable()
  @IsText(1, MAX_PASSWORD)
  current_password?: string;
}

const SESSION_ID = '019aa5c7-1e2f-7a3b-8c4d-5e6f7a8b9c0d';
const PERSON_ID = '019aa5c7-0a1b-7c2d-8e3f-4a5b6c7d8e9f';
const ACCOUNT_ID = '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d';
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0';

export class PersonView {
  @ApiProperty({ example: PERSON_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'Ada Byron' })
  name: string;

  @ApiProperty({ example: 'ada@example.com' })
  email: string;

  /** Otherwise the person signs in with links alone. */
  @ApiProperty({ example: true })
  has_password: boolean;
}

export class SessionMembershipView {
  /** Id of the membership. */
  @ApiProperty({ example: '019aa5c7-0b2c-7d3e-8f4a-5b6c7d8e9fa0', format: 'uuid' })
  id: string;

  @ApiProperty({ example: ACCOUNT_ID, format: 'uuid' })
  account_id: string;

  @ApiProperty({ example: 'Example Ltd' })
  account_name: string;

  @ApiProperty({ enum: ROLES, example: 'owner' })
  role: Role;
}

export class SessionListItem {
  @ApiProperty({ example: SESSION_ID, format: 'uuid' })
  id: string;

  /** The account for which the session acts. */
  @ApiProperty({ example: ACCOUNT_ID, format: 'uuid' })
  account_id: string;

  /** Whether it is the session of this request. */
  @ApiProperty({ example: true })
  is_current: boolean;

  /** With a link, the session acts for one account alone. */
  @ApiProperty({ enum: SESSION_BEGINNINGS, example: 'password' })
  began_with: SessionBeginning;

  /** Address from which the person signed in. */
  @ApiProperty({ type: String, nullable: true, example: '198.51.100.7' })
  address: string | null;

  /** Header `User-Agent` of the browser. */
  @ApiProperty({ type: String, nullable: true, example: USER_AGENT })
  user_agent: string | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  /** Within a minute or so. */
  @ApiProperty({ example: '2026-11-21T10:15:00' })
  last_seen_at: string;

  /** When the session ends at the latest. Without a request it ends after 7 days. */
  @ApiProperty({ example: '2026-12-21T10:15:00' })
  expires_at: string;
}

export class SessionPage extends PageFields {
  sessions: SessionListItem[];
}

export class SessionView {
  @ApiProperty({ example: SESSION_ID, format: 'uuid' })
  id: string;

  /** Only of a session that began with an OpenID provider: its name. */
  @ApiProperty({ example: 'example', required: false })
  provider?: string;

  person: PersonView;

  /** The account for which the session acts. */
  @ApiProperty({ example: ACCOUNT_ID, format: 'uuid' })
  account_id: string;

  @ApiProperty({ example: 'Example Ltd' })
  account_name: string;

  /** Role of the person in the account. */
  @ApiProperty({ enum: ROLES, example: 'owner' })
  role: Role;

  /** Scopes of the role. */
  @ApiProperty({ enum: () => SCOPES, isArray: true })
  scopes: Scope[];

  /** With a link, the session acts for one account alone. */
  @ApiProperty({ enum: SESSION_BEGINNINGS, example: 'password' })
  began_with: SessionBeginning;

  /** The accounts of the person, by their names. */
  @ApiProperty({ type: [SessionMembershipView] })
  memberships: SessionMembershipView[];

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  last_seen_at: string;

  /** When the session ends at the latest. Without a request it ends after 7 days. */
  @ApiProperty({ example: '2026-12-21T10:15:00' })
  expires_at: string;
}

export const presentMembership = ({ id, accountId, accountName, role }: MembershipDetails): SessionMembershipView => ({
  id,
  account_id: accountId,
  account_name: accountName,
  role,
});

export function presentSession({ session, person, membership, memberships }: SessionDetails): SessionView {
  const { id, name, email, passwordHash } = person;
  return {
    id: session.id,
    ...(session.provider !== null && { provider: session.provider }),
    person: { id, name, email, has_password: passwordHash !== null },
    account_id: membership.accountId,
    account_name: membership.accountName,
    role: membership.role,
    scopes: [...scopesOf(membership.role)],
    began_with: session.beganWith,
    memberships: memberships.map(presentMembership),
    ...timesOf(session),
  };
}

const timesOf = ({ createdAt, lastSeenAt, expiresAt }: Session) => ({
  created_at: resourceTime(createdAt),
  last_seen_at: resourceTime(lastSeenAt),
  expires_at: resourceTime(expiresAt),
});

/** @param currentId of the session that asks */
export function presentSessionPage(query: PageQuery, found: PageResult<Session>, currentId: string): SessionPage {
  const items = found.items.map((session) => ({
    id: session.id,
    account_id: session.accountId,
    is_current: session.id === currentId,
    began_with: session.beganWith,
    address: session.address,
    user_agent: session.userAgent,
    ...timesOf(session),
  }));
  return { sessions: items, ...pageFields('/v1/sessions', query, found) };
}
