import { ApiProperty } from '@nestjs/swagger';
import { ACTOR_KINDS, type ActorKind } from '../../access/acting.js';
import { IsDay, IsFilter, IsIntegerParameter, IsOmittable, IsTextFilter } from '../../platform/http/input/rules.js';
import { pageFields, PageFields, PageQuery, type PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { NamedEntry } from './audit-entry.entity.js';

export class AuditLogQuery extends PageQuery {
  /**
   * Lists only entries of this action.
   * @example webhook.updated
   */
  @IsOmittable()
  @IsTextFilter(1, 100)
  action?: string;

  /**
   * Lists only entries of this kind of actor, or of the API key or person with this id. Access tokens count for
   * the key that issued them.
   * @example operator
   */
  @IsOmittable()
  @IsTextFilter(1, 100)
  actor?: string;

  /**
   * Lists only entries whose first target has this id.
   * @example 019aa5c6-7d80-7b1f-9a2c-3d4e5f607182
   */
  @IsOmittable()
  @IsTextFilter(1, 100)
  target?: string;

  /**
   * First day (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}

export class AuditLogListQuery extends AuditLogQuery {
  /** `jsonl`: an entry on each line, oldest first, to follow the log. `Accept: application/x-ndjson` asks for the same. */
  @IsOmittable()
  @IsFilter(['json', 'jsonl'])
  format?: 'json' | 'jsonl';

  /** With `jsonl`: only entries behind the one with this number. From the oldest when omitted. */
  @IsOmittable()
  @IsIntegerParameter(0, Number.MAX_SAFE_INTEGER)
  after?: number;
}

export class AuditActorView {
  @ApiProperty({ enum: ACTOR_KINDS, example: 'api_key' })
  kind: ActorKind;

  /** The API key, or the one that issued the access token. */
  @ApiProperty({ type: String, nullable: true, format: 'uuid', example: '019aa5c1-2b3c-7d4e-8f50-617283940a1b' })
  key_id: string | null;

  /** Who had signed in. */
  @ApiProperty({ type: String, nullable: true, example: null })
  person_id: string | null;

  /** The present name of the person; null, too, once the person was removed. */
  @ApiProperty({ type: String, nullable: true, example: null })
  person_name: string | null;

  @ApiProperty({ type: String, nullable: true, example: null })
  token_id: string | null;

  /** The end user of the token; null, too, once the end user was erased. */
  @ApiProperty({ type: String, nullable: true, example: null })
  user_id: string | null;
}

export class AuditTargetView {
  @ApiProperty({ example: 'webhook' })
  type: string;

  @ApiProperty({ example: '019aa5c6-7d80-7b1f-9a2c-3d4e5f607182' })
  id: string;
}

const VALUES = { type: 'object', additionalProperties: true, nullable: true } as const;

export class AuditEntryView {
  /** Place in the chain of the account, from 1 on. */
  @ApiProperty({ type: 'integer', example: 42 })
  number: number;

  @ApiProperty({ format: 'uuid', example: '019aa5c7-1f2e-7a3b-8c4d-5e6f708192a3' })
  id: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  at: string;

  @ApiProperty({ example: 'webhook.updated' })
  action: string;

  @ApiProperty({ enum: ['success', 'failure'], example: 'success' })
  outcome: 'success' | 'failure';

  actor: AuditActorView;

  targets: AuditTargetView[];

  /** Of the client. */
  @ApiProperty({ type: String, nullable: true, example: '203.0.113.7' })
  address: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'vnotes/1.0' })
  user_agent: string | null;

  @ApiProperty({ type: String, nullable: true, example: '4f8c0a5e-9b1d-4e2f-8a3b-6c7d8e9f0a1b' })
  request_id: string | null;

  /** What differed before; secrets and URLs beyond their origin are not shown. */
  @ApiProperty({ ...VALUES, example: { status: 'active' } })
  before: object | null;

  /** What differs now. */
  @ApiProperty({ ...VALUES, example: { status: 'disabled' } })
  after: object | null;

  /** SHA-256 of the entry behind the one before it. */
  @ApiProperty({ example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' })
  hash: string;
}

export class AuditLogPage extends PageFields {
  entries: AuditEntryView[];
}

const presentEntry = (entry: NamedEntry): AuditEntryView => ({
  number: Number(entry.number),
  id: entry.id,
  at: resourceTime(entry.at),
  action: entry.action,
  outcome: entry.outcome,
  actor: {
    kind: entry.actorKind,
    key_id: entry.keyId,
    person_id: entry.personId,
    person_name: entry.personName,
    token_id: entry.tokenId,
    user_id: entry.userId,
  },
  targets: entry.targets,
  address: entry.address,
  user_agent: entry.userAgent,
  request_id: entry.requestId,
  before: entry.before,
  after: entry.after,
  hash: entry.hash ?? '',
});

export const presentAuditLogPage = (query: AuditLogQuery, found: PageResult<NamedEntry>): AuditLogPage => ({
  entries: found.items.map(presentEntry),
  ...pageFields('/v1/account/audit-log', query, found),
});

/** A line for each entry. */
export const presentAuditLines = (entries: readonly NamedEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(presentEntry(entry))}\n`).join('');
