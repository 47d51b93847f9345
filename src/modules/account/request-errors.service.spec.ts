import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import { Registry } from 'prom-client';
import type { Env } from '../../platform/config/env.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { ConflictError, InvalidRequestError, PermissionError } from '../../platform/errors/errors.js';
import { setCaller } from '../../platform/observability/request-log.middleware.js';
import type { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { presentRequestErrors } from './request-errors.dto.js';
import { PendingErrors, type Refusal, type RequestErrorGroup, RequestErrorsService } from './request-errors.service.js';

const FLUSH_MS = 1000;
const NOW = new Date('2026-11-22T10:00:00Z');
const INVALID = new InvalidRequestError({ field: 'limit', reason: 'is wrong' });

describe('RequestErrorsService (D53)', () => {
  let written: Record<string, unknown>[][];
  let trimmed: unknown[][];
  let deletions: number[];
  let deleted: unknown[][];
  /** Accounts that have a new group. */
  let grown: string[];
  let failing: 'nothing' | 'write' | 'trim';
  let warnings: unknown[];
  let registry: Registry;
  let deleteOld: () => Promise<void>;
  let service: RequestErrorsService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    [written, trimmed, deletions, deleted, grown, failing, warnings] = [[], [], [], [], [], 'nothing', []];
    registry = new Registry();
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((_: unknown, text: unknown) => void warnings.push(text));
    const query = async (sql: string, given: unknown[]): Promise<object[]> => {
      if (sql.includes('row_number')) {
        if (failing === 'trim') throw new Error('no connection');
        trimmed.push(given);
        return [];
      }
      if (sql.includes('LIMIT $2')) {
        deleted.push(given);
        return Array.from({ length: deletions.shift() ?? 0 }, () => ({}));
      }
      if (failing === 'write') throw new Error('no connection');
      written.push(JSON.parse(given[0] as string) as Record<string, unknown>[]);
      return grown.map((accountId) => ({ accountId }));
    };
    service = new RequestErrorsService(
      { query } as unknown as DatabaseService,
      { requestErrorGroups: 2, requestErrorRetentionDays: 9 } as Env,
      {
        register: (name: string, run: () => Promise<void>) => {
          expect(name).toBe('delete old request errors');
          deleteOld = run;
        },
      } as unknown as ReconcilerService,
      registry,
    );
    service.onModuleInit();
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  function requestOf(path: unknown, method = 'GET', accountId: string | null = 'a'): Request {
    const request = { method, route: { path }, id: 'r1' } as unknown as Request;
    if (accountId !== null) setCaller(request, { account_id: accountId });
    return request;
  }
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const dropped = async () => (await registry.getSingleMetric('request_errors_dropped_total')?.get())?.values[0]?.value;

  it('writes a second after the first what was refused, and why', async () => {
    service.record(requestOf('/v1/recordings'), INVALID);
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    service.record(requestOf('/v1/recordings'), INVALID);
    await pass(1);
    expect(written).toEqual([
      [
        {
          accountId: 'a',
          day: '2026-11-22',
          operation: 'GET /v1/recordings',
          status: 400,
          code: '2001',
          type: 'ValidationError',
          field: 'limit',
          message: 'limit is wrong.',
          count: 2,
          firstAt: NOW.toISOString(),
          lastAt: '2026-11-22T10:00:00.999Z',
          requestIds: ['r1', 'r1'],
        },
      ],
    ]);
    await pass(10 * FLUSH_MS);
    expect(written).toHaveLength(1);
  });

  it('tells few kinds of errors of end users apart, so that they push out no others', async () => {
    for (let i = 0; i < 1000; i++) {
      const request = requestOf(`/v1/route-${i}`);
      setCaller(request, { account_id: 'a', token_id: 't' });
      service.record(request, new PermissionError('recordings:read'));
      const upload = requestOf('/v1/recordings', 'POST');
      setCaller(upload, { account_id: 'a', token_id: 't' });
      service.record(upload, new InvalidRequestError({ field: `field-${i}`, reason: 'is wrong' }));
    }
    await pass(FLUSH_MS);
    const kinds = (written[0] as { operation: string; field: string; count: number }[]).map(
      ({ operation, field, count }) => [operation, field, count],
    );
    expect(kinds).toEqual([
      ['GET /v1/*', '', 1000],
      ['POST /v1/recordings', '', 1000],
    ]);
  });

  it.each([
    ['/v1/recordings/:recording_id/audio', 'GET /v1/recordings/{recording_id}/audio'],
    ['/v1/a/:x/b/:y', 'GET /v1/a/{x}/b/{y}'],
    ['/v1/{*path}', 'GET /v1/*'],
    ['/health/live', 'GET /v1/*'],
    [['v1', 'v1/{*path}'], 'GET /v1/*'],
    [undefined, 'GET /v1/*'],
  ])('names the operation of %j: %s', async (path, operation) => {
    service.record(requestOf(path), new ConflictError('x'));
    await pass(FLUSH_MS);
    expect(written[0]?.[0]).toMatchObject({ operation, field: '', status: 409, code: '2009' });
  });

  it('counts nothing of requests without valid credentials', async () => {
    service.record(requestOf('/v1/recordings', 'GET', null), INVALID);
    await pass(10 * FLUSH_MS);
    expect(written).toEqual([]);
  });

  it('counts what there is no room for', async () => {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) service.record(requestOf('/v1/a', method), INVALID);
    expect(await dropped()).toBe(2);
    await pass(FLUSH_MS);
    expect(written[0]).toHaveLength(2);
  });

  it('writes again what could not be written, a second later, with what came since', async () => {
    failing = 'write';
    service.record(requestOf('/v1/a'), INVALID);
    await pass(FLUSH_MS);
    expect(warnings).toEqual(['request errors not written; retrying']);
    failing = 'nothing';
    service.record(requestOf('/v1/a'), INVALID);
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    await pass(1);
    expect(written[0]).toMatchObject([{ count: 2 }]);
    expect(await dropped()).toBe(0);
  });

  it('trims the accounts that have a new group, to as many as are kept, and survives that it cannot', async () => {
    service.record(requestOf('/v1/a'), INVALID);
    await pass(FLUSH_MS);
    expect(trimmed).toEqual([]);
    grown = ['a', 'b'];
    service.record(requestOf('/v1/a'), INVALID);
    await pass(FLUSH_MS);
    expect(trimmed).toEqual([[['a', 'b'], 2]]);
    failing = 'trim';
    service.record(requestOf('/v1/a'), INVALID);
    await pass(FLUSH_MS);
    await pass(FLUSH_MS);
    expect(warnings).toEqual(['request errors not trimmed']);
    expect(written).toHaveLength(3);
  });

  it('writes what is left when the process stops, and waits for it', async () => {
    service.record(requestOf('/v1/a'), INVALID);
    await service.onApplicationShutdown();
    expect(written).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('deletes what is older than the days that are kept, 1,000 rows at a time', async () => {
    deletions = [1000, 1000, 3, 5];
    await deleteOld();
    expect(deleted).toEqual(Array.from({ length: 3 }, () => [9, 1000]));
  });
});

describe('presentRequestErrors', () => {
  const GROUP: RequestErrorGroup = {
    operation: 'GET /v1/a',
    status: 400,
    code: '2001',
    type: 'ValidationError',
    field: 'limit',
    message: 'm',
    count: 3,
    firstAt: new Date('2026-11-21T10:00:00Z'),
    lastAt: new Date('2026-11-22T11:00:00Z'),
    requestIds: ['r2', 'r1'],
  };

  it('shows each figure under its name', () => {
    expect(presentRequestErrors({ days: 7, limit: 50 }, [GROUP])).toEqual({
      days: 7,
      errors: [
        {
          operation: 'GET /v1/a',
          status: 400,
          type: 'ValidationError',
          code: 2001,
          field: 'limit',
          count: 3,
          first_at: '2026-11-21T10:00:00',
          last_at: '2026-11-22T11:00:00',
          message: 'm',
          request_ids: ['r2', 'r1'],
        },
      ],
      uri: '/v1/account/errors?days=7&limit=50',
    });
  });

  it.each([
    ['2001', 2001],
    ['TRANSCRIPTION_NOT_READY', 'TRANSCRIPTION_NOT_READY'],
    ['2001x', '2001x'],
  ])('shows the code %s as %j, and no field as null', (code, shown) => {
    const { errors } = presentRequestErrors({ days: 1, limit: 1 }, [{ ...GROUP, code, field: '' }]);
    expect(errors[0]).toMatchObject({ code: shown, field: null });
  });
});

const refusal = (changes: Partial<Refusal> = {}): Refusal => ({
  accountId: 'a',
  operation: 'GET /v1/recordings',
  status: 400,
  code: '2001',
  type: 'ValidationError',
  field: 'limit',
  message: 'limit must be an integer.',
  requestId: 'r',
  at: new Date('2026-03-14T09:26:53Z'),
  ...changes,
});
const at = (time: string): Date => new Date(`2026-03-14T${time}Z`);

describe('errors that are not written yet', () => {
  let pending: PendingErrors;

  beforeEach(() => {
    pending = new PendingErrors(3);
  });

  it('are one group for each account, day, operation, status, code and field', () => {
    const others: Partial<Refusal>[] = [
      { accountId: 'b' },
      { accountId: 'c', operation: 'GET /v1/webhooks' },
      { accountId: 'd', status: 404 },
      { accountId: 'e', code: '3001' },
      { accountId: 'f', field: null },
      { at: new Date('2026-03-15T00:00:00Z') },
    ];
    for (const change of [{}, {}, ...others]) expect(pending.add(refusal(change))).toBe(true);
    const groups = pending.take();
    expect(groups.map(({ count }) => count)).toEqual([2, 1, 1, 1, 1, 1, 1]);
    expect(groups.map(({ day }) => day)).toEqual([...Array.from({ length: 6 }, () => '2026-03-14'), '2026-03-15']);
    expect(groups.map(({ field }) => field)).toEqual(['limit', 'limit', 'limit', 'limit', 'limit', '', 'limit']);
    expect(pending.take()).toEqual([]);
  });

  it('have the last message, the first and the last time, and the last five request ids', () => {
    for (let i = 1; i <= 7; i++) pending.add(refusal({ at: at(`10:00:0${i}`), requestId: `r${i}`, message: `m${i}` }));
    expect(pending.take()).toEqual([
      expect.objectContaining({
        count: 7,
        message: 'm7',
        firstAt: at('10:00:01'),
        lastAt: at('10:00:07'),
        requestIds: ['r7', 'r6', 'r5', 'r4', 'r3'],
      }),
    ]);
  });

  it('are bounded for each account, and put back what could not be written', () => {
    const fields = ['a', 'b', 'c', 'd'];
    expect(fields.map((field) => pending.add(refusal({ field })))).toEqual([true, true, true, false]);
    expect(pending.add(refusal({ accountId: 'b' }))).toBe(true);
    const taken = pending.take();
    pending.add(refusal({ field: 'a', at: at('11:00:00'), requestId: 'later' }));
    pending.add(refusal({ field: 'x' }));
    // One of the three has no room beside the new one.
    expect(pending.restore(taken)).toBe(1);
    expect(pending.take()).toEqual([
      expect.objectContaining({ field: 'a', count: 2, lastAt: at('11:00:00'), requestIds: ['later', 'r'] }),
      expect.objectContaining({ field: 'x', count: 1 }),
      expect.objectContaining({ field: 'b', count: 1 }),
      expect.objectContaining({ accountId: 'b' }),
    ]);
  });

  it.each([
    ['a NUL', 'a\0b', 'a�b'],
    ['another control character', 'a\x1b[2Jb\u0085', 'a�[2Jb�'],
    ['half of a character', 'x\ud800', 'x�'],
    ['a half that is left where it is cut', `${'x'.repeat(99)}🎙`, `${'x'.repeat(99)}�`],
    ['a secret', 'my vns_0123 and more', 'my vns_…'],
    ['a secret of several lines', 'whsec_01\n23', 'whsec_…'],
    ['a token', 'eyJhbGciOi.x', 'eyJ…'],
    ['a sign-in code', 'code vnc_0123', 'code vnc_…'],
    ['101 characters', 'x'.repeat(101), 'x'.repeat(100)],
  ])('have no field with %s', (_, field, cleaned) => {
    pending.add(refusal({ field }));
    expect(pending.take()[0]?.field).toBe(cleaned);
  });

  it('are 10,000 at most of all accounts together', () => {
    for (let i = 0; i < 10_000; i++) expect(pending.add(refusal({ accountId: `${i}` }))).toBe(true);
    expect(pending.add(refusal({ accountId: 'another' }))).toBe(false);
    expect(pending.add(refusal({ accountId: '0' }))).toBe(true);
    expect(pending.size).toBe(10_000);
  });

  it('have no message with a secret, or of more than 500 characters', () => {
    pending.add(refusal({ message: 'x'.repeat(501) }));
    expect(pending.take()[0]?.message).toBe('x'.repeat(500));
    pending.add(refusal({ message: '"vns_0123" is not a scope.' }));
    expect(pending.take()[0]?.message).toBe('"vns_…');
  });
});
