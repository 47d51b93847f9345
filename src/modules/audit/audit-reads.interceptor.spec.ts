import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { lastValueFrom, of } from 'rxjs';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { AuditReadsInterceptor, readActionOf } from './audit-reads.interceptor.js';

describe('AuditReadsInterceptor', () => {
  it('names what is read by the path', () => {
    expect(
      ['/v1/recordings', '/v1/recordings/:recording_id/audio', '/v1/account/audit-log', '/mcp'].map(readActionOf),
    ).toEqual(['recordings.read', 'recordings.audio.read', 'account.audit_log.read', 'mcp.read']);
  });

  it.each([
    ['of an account that records none', 'GET', '/v1/recordings', false],
    ['that change something', 'POST', '/v1/recordings', true],
    ['without credentials', 'GET', '/v1/event-types', undefined],
  ])('records no requests %s', async (_, method, path, recordsReads) => {
    const database = { prepared: () => Promise.reject(new Error('recorded')) } as unknown as DatabaseService;
    const request = { method, route: { path }, principal: recordsReads === undefined ? undefined : { recordsReads } };
    const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
    const handler: CallHandler = { handle: () => of('answer') };
    const answer = await new AuditReadsInterceptor(database).intercept(context, handler);
    expect(await lastValueFrom(answer)).toBe('answer');
  });
});
