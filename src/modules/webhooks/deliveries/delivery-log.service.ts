import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type SqlRunner } from '../../../platform/database/database.service.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { findOrFail } from '../../../platform/database/find-or-fail.js';
import { fromDay, toPage, untilDay } from '../../../platform/database/statement-parts.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { isResourceId } from '../../../platform/database/find-or-fail.js';
import type { PageResult } from '../../../platform/http/page.js';
import { Webhook } from '../webhook.entity.js';
import type { ListDeliveriesQuery } from './deliveries.dto.js';
import { type Attempt, Delivery, type DeliveryWithAttempts, type DeliveryWithEvent } from './delivery.entity.js';

/** What was sent to a webhook, and what came back (D39). */
@Injectable()
export class DeliveryLogService {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
  ) {}

  /** @throws NotFoundError without such a webhook */
  async list(accountId: string, webhookId: string, query: ListDeliveriesQuery): Promise<PageResult<DeliveryWithEvent>> {
    const exists = isResourceId(webhookId) && (await this.webhooks.existsBy({ id: webhookId, accountId }));
    if (!exists) throw new NotFoundError('webhook');
    return await selectDeliveryPage(this.database, webhookId, query);
  }

  /** @throws NotFoundError */
  async get(accountId: string, webhookId: string, id: string): Promise<DeliveryWithAttempts> {
    if (!isResourceId(webhookId)) throw new NotFoundError('delivery');
    return await findOrFail('delivery', id, () => selectDelivery(this.database, { accountId, webhookId, id }));
  }
}

const COLUMNS = `${selectList(Delivery, 'd')}, e.kind, e.recording_id AS "recordingId"`;

/** Filters that are not given do not stand in the statement, so that each finds its index. */
function pageStatement(
  webhookId: string,
  { page, limit, status, date_from: from, date_to: to }: ListDeliveriesQuery,
): { sql: string; parameters: unknown[] } {
  const parameters: unknown[] = [webhookId, limit, page * limit];
  const place = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['d.webhook_id = $1'];
  if (status) conditions.push(`d.status = ${place(status)}`);
  if (from) conditions.push(fromDay('d.created_at', place(from)));
  if (to) conditions.push(untilDay('d.created_at', place(to)));
  const chosen = conditions.join(' AND ');
  const sql = `
    SELECT total.total, page.* FROM (SELECT count(*)::float8 AS total FROM deliveries d WHERE ${chosen}) total
    LEFT JOIN LATERAL (
      SELECT ${COLUMNS} FROM (
        SELECT d.id FROM deliveries d WHERE ${chosen}
        ORDER BY d.created_at DESC, d.id DESC LIMIT $2 OFFSET $3::bigint
      ) chosen JOIN deliveries d ON d.id = chosen.id JOIN events e ON e.id = d.event_id
      ORDER BY d.created_at DESC, d.id DESC
    ) page ON true`;
  return { sql, parameters };
}

/** SQL, because total and page come from one snapshot, and the index alone tells both. */
async function selectDeliveryPage(
  runner: SqlRunner,
  webhookId: string,
  query: ListDeliveriesQuery,
): Promise<PageResult<DeliveryWithEvent>> {
  const { sql, parameters } = pageStatement(webhookId, query);
  const rows = await runner.query<DeliveryWithEvent & { total: number }>(sql, parameters);
  return toPage(rows);
}

/** All of an attempt is null where the log has none. */
type JoinedRow = DeliveryWithEvent & Omit<Attempt, 'status'> & { body: string; attemptStatus: number | null };

/** SQL, because the delivery and its attempts come from one snapshot. */
async function selectDelivery(
  database: DatabaseService,
  { accountId, webhookId, id }: { accountId: string; webhookId: string; id: string },
): Promise<DeliveryWithAttempts | null> {
  const rows = await database.query<JoinedRow>(
    `SELECT ${COLUMNS}, e.body, a.number, a.started_at AS "startedAt", a.status AS "attemptStatus", a.error, a.reason,
       a.duration_ms AS "durationMs", a.response
     FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN events e ON e.id = d.event_id
     LEFT JOIN delivery_attempts a ON a.delivery_id = d.id
     WHERE d.id = $1 AND w.id = $2 AND w.account_id = $3 ORDER BY a.number`,
    [id, webhookId, accountId],
  );
  const [delivery] = rows;
  if (!delivery) return null;
  const logged = rows.filter(({ number }) => number !== null);
  const attempts = logged.map(
    ({ number, startedAt, attemptStatus: status, error, reason, durationMs, response }): Attempt => ({
      number,
      startedAt,
      status,
      error,
      reason,
      durationMs,
      response,
    }),
  );
  return { delivery, body: delivery.body, attempts: [...attempts, ...deliveringAttempt(delivery)] };
}

/** The attempt that delivered it is in its own row. */
function deliveringAttempt(delivery: Delivery): Attempt[] {
  const { status, attempts, lastAttemptAt, lastStatus, lastDurationMs, lastResponse, updatedAt } = delivery;
  if (status !== 'delivered') return [];
  return [
    {
      number: attempts,
      startedAt: lastAttemptAt ?? updatedAt,
      status: lastStatus,
      error: null,
      reason: null,
      durationMs: lastDurationMs ?? 0,
      response: lastResponse,
    },
  ];
}
