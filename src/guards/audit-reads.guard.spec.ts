import { EventEmitter } from 'node:events';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import type { DatabaseService } from '../platform/database/database.service.js';
import { workBeforeAnswer } from '../platform/http/server/before-answer.js';
import { AuditReadsGuard, readActionOf } from './audit-reads.guard.js';

const REQUEST = { method: 'GET', route: { path: '/v1/recordings' }, params: {}, headers: {} };

/** Lets a request pass. @returns its response, and the rows of entries that have been written. */
function pass(request: object) {
  const written: Record<string, unknown>[] = [];
  const prepared = async (_: string, [rows]: string[]) => {
    written.push(...(JSON.parse(rows ?? '') as Record<string, unknown>[]));
  };
  const response = Object.assign(new EventEmitter(), { headersSent: false, statusCode: 200 });
  const http = { getRequest: () => ({ ...REQUEST, ...request }), getResponse: () => response };
  const context = { switchToHttp: () => http } as unknown as ExecutionContext;
  expect(new AuditReadsGuard({ prepared } as unknown as DatabaseService).canActivate(context)).toBe(true);
  return { response, work: (failed: boolean) => workBeforeAnswer(response as unknown as Response, failed), written };
}

const recorded = (row: object) => pass({ principal: { accountId: 'a', recordsReads: true }, ...row });
const outcomes = (written: Record<string, unknown>[]) => written.map(({ outcome }) => outcome);

describe('AuditReadsGuard', () => {
  it('names what is read by the path', () => {
    expect(
      ['/v1/recordings', '/v1/recordings/:recording_id/audio', '/v1/account/audit-log', '/mcp'].map(readActionOf),
    ).toEqual(['recordings.read', 'recordings.audio.read', 'account.audit_log.read', 'mcp.read']);
  });

  it.each([
    ['of an account that records none', { principal: { recordsReads: false } }],
    ['that change something', { method: 'POST', principal: { recordsReads: true } }],
    ['without credentials', {}],
  ])('has nothing done before the answer of requests %s', (_, request) => {
    const { response, work } = pass(request);
    expect([work(false), response.listenerCount('close')]).toEqual([null, 0]);
  });

  it('records a read once, with what came of it', async () => {
    for (const failed of [false, true]) {
      const { response, work, written } = recorded({});
      await work(failed);
      expect(work(failed)).toBeNull();
      response.emit('close');
      expect(outcomes(written)).toEqual([failed ? 'failure' : 'success']);
    }
  });

  it('records an answer that a handler has sent itself when that ends: one that was not begun has failed', () => {
    const results = [{ headersSent: true }, { headersSent: true, statusCode: 416 }, { headersSent: false }].map(
      (state) => {
        const { response, written } = recorded({});
        Object.assign(response, state).emit('close');
        return outcomes(written);
      },
    );
    expect(results).toEqual([['success'], ['failure'], ['failure']]);
  });
});
