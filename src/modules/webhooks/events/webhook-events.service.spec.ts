import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { EventSignalsService } from './event-signals.service.js';
import { CreateWebhookDto } from '../webhooks.dto.js';
import { EVENT_KINDS, registerEventKind } from './event-catalogue.js';
import { WebhookEventsService } from './webhook-events.service.js';

describe('WebhookEventsService', () => {
  const CORE = ['recording.transcribed', 'recording.failed', 'transcription.corrected', 'recording.partial'];
  const inserted: unknown[][] = [];
  const fannedOut: object[] = [];
  const announced: string[] = [];
  const tx = {
    prepared: async (_sql: string, row: unknown[]) => void inserted.push(row),
    afterCommit: (task: () => void) => task(),
  } as unknown as Tx;
  const signals = { announce: (accountId: string) => void announced.push(accountId) } as EventSignalsService;
  const deliveries = { fanOut: async (_tx: Tx, event: object) => void fannedOut.push(event) };
  const events = new WebhookEventsService(deliveries as DeliveriesService, signals, {} as DatabaseService, {} as Env);
  const errorsFor = (kind: string) =>
    validateSync(plainToInstance(CreateWebhookDto, { url: 'https://example.com/', events: [kind] }));

  it('knows the kinds of the core', () => {
    expect(EVENT_KINDS).toEqual(CORE);
  });

  it('refuses to publish and to subscribe to a kind that is not registered', async () => {
    await expect(events.publish(tx, { accountId: 'a', kind: 'keyword.matched', body: '{}' })).rejects.toThrow(
      'keyword.matched is not registered',
    );
    expect(errorsFor('keyword.matched')).toHaveLength(1);
    expect(inserted).toEqual([]);
  });

  it('keeps the kinds of the feed from webhooks', async () => {
    for (const kind of ['recording.accepted', 'recording.deleted']) {
      expect(errorsFor(kind)).toHaveLength(1);
      await expect(events.publish(tx, { accountId: 'a', kind, body: '{}' })).rejects.toThrow('is not registered');
      expect(() => registerEventKind(kind)).toThrow(`${kind} is a kind of the event feed`);
    }
    expect(fannedOut).toEqual([]);
    inserted.length = 0;
  });

  it('publishes a registered kind, and webhooks can subscribe to it', async () => {
    registerEventKind('keyword.matched');
    registerEventKind('keyword.matched');
    expect(EVENT_KINDS).toEqual([...CORE, 'keyword.matched']);
    expect(errorsFor('keyword.matched')).toEqual([]);
    await events.publish(tx, { accountId: 'a', kind: 'keyword.matched', body: '{"x":1}' });
    const event = expect.objectContaining({
      accountId: 'a',
      kind: 'keyword.matched',
      body: '{"x":1}',
      recordingId: null,
      run: null,
    });
    expect(inserted).toEqual([expect.arrayContaining(['a', 'keyword.matched', '{"x":1}'])]);
    expect(fannedOut).toEqual([event]);
    expect(announced).toEqual(['a']);
  });

  it('records an event of the feed with its end user, and hands it to no webhook', async () => {
    for (const list of [inserted, fannedOut, announced]) list.length = 0;
    const body = '{"recording":{"identity":"jane"}}';
    const before = Date.now();
    await events.record(tx, { accountId: 'a', kind: 'recording.deleted', body, recordingId: 'r', run: 2 });
    const [[id, ...row] = []] = inserted;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(row).toEqual(['a', 'recording.deleted', 'r', 2, 'jane', body, expect.any(Date)]);
    expect((row.at(-1) as Date).getTime()).toBeGreaterThanOrEqual(before);
    expect([inserted.length, fannedOut, announced]).toEqual([1, [], ['a']]);
  });
});

describe('what remains of events', () => {
  const [BATCH, ROUNDS] = [200, 50];
  let left: number;
  /** Of those that are left, how many wait for a delivery; the oldest do. */
  let pending: number;
  let statements: { sql: string; parameters: unknown[] }[];
  let events: WebhookEventsService;

  beforeEach(() => {
    [left, pending, statements] = [0, 0, []];
    const query = async (sql: string, parameters: unknown[]) => {
      statements.push({ sql, parameters });
      if (sql.startsWith('SELECT')) {
        return [{ id: 'e', body: '{"recording":{"id":"r","identity":"jane","custom_tags":{"a":"b"}}}' }];
      }
      const [, , after, count] = parameters as [number, string, string, number];
      const place = /^[0-9]+$/.test(after) ? Number(after) : 0;
      const scanned = Math.min(left - place, count);
      const deleted = Math.max(0, place + scanned - Math.max(pending, place));
      left -= deleted;
      const last = { at: 'time', id: String(place + scanned - deleted) };
      return [{ scanned, deleted, last: scanned > 0 ? last : null }];
    };
    const transact = async (work: (inner: Tx) => Promise<number>) => await work({ query } as unknown as Tx);
    events = new WebhookEventsService(
      {} as DeliveriesService,
      {} as EventSignalsService,
      { query, transact } as unknown as DatabaseService,
      { eventRetentionDays: 7 } as Env,
    );
  });

  it('is deleted after EVENT_RETENTION_DAYS, 200 at a time', async () => {
    left = 2 * BATCH + 1;
    await events.deleteOld();
    expect(left).toBe(0);
    expect(statements.map(({ parameters }) => [parameters[0], parameters[3]])).toEqual([
      [7, BATCH],
      [7, BATCH],
      [7, BATCH],
    ]);
  });

  it('is passed by while it waits for a delivery, 2,000 in a round, and then looked at again from the oldest', async () => {
    [left, pending] = [4321, 4300];
    const rounds = [];
    for (let i = 0; i < 4; i++) {
      statements.length = 0;
      await events.deleteOld();
      rounds.push([statements.length, left]);
    }
    expect(rounds).toEqual([
      [10, 4321],
      [10, 4321],
      [2, 4300],
      [10, 4300],
    ]);
    expect(statements[0]?.parameters.slice(1, 3)).toEqual(['-infinity', expect.stringMatching(/^[0-]+$/)]);
  });

  it('is left to the next round after 50 batches, so that other tasks get their turn', async () => {
    left = BATCH * (ROUNDS + 1);
    await events.deleteOld();
    expect([statements.length, left]).toEqual([ROUNDS, BATCH]);
  });

  it('does not name an end user after their erasure, and returns the number of changed events', async () => {
    expect(await events.redactUser('account', 'jane', '2026-01-01', 3)).toEqual({ redacted: 1, isLast: true });
    expect(await events.redactUser('account', 'jane', '2026-01-01', 1)).toEqual({ redacted: 1, isLast: false });
    expect(statements.slice(0, 3).map(({ parameters }) => parameters)).toEqual([
      ['account', 'jane', '2026-01-01', 3],
      [['e'], 'jane'],
      [['e'], ['{"recording":{"id":"r","identity":null}}'], [null]],
    ]);
  });
});
