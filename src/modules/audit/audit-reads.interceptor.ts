import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { lastValueFrom, type Observable, of } from 'rxjs';
import type { IdentifiedRequest } from '../../access/access.decorators.js';
import { actingOf } from '../../access/acting.js';
import { type AuditTarget, auditTarget, recordRead } from '../../access/audit-trail.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { upgradeOf } from '../../platform/http/server/upgrade.js';
import { MCP_PATH } from '../../platform/http/server/request-line.js';

/** Requests that read, although their method is another. */
const ALSO_READS = new Set(['POST /v1/recordings/:recording_id/audio-url', `POST ${MCP_PATH}`]);
/** What a path parameter is if it names something; other text is no more than what a client has sent. */
const NAME = /^[\w.:@-]{1,100}$/;

/**
 * Records requests that read, for accounts that want it (D98): before the answer, where the handler returns it, and otherwise
 * once the handler has sent it.
 */
@Injectable()
export class AuditReadsInterceptor implements NestInterceptor {
  constructor(private readonly database: DatabaseService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const isRecorded = request.principal?.recordsReads === true && isRead(request);
    return isRecorded ? this.handleRead(request, next) : next.handle();
  }

  private async handleRead(request: IdentifiedRequest, next: CallHandler): Promise<Observable<unknown>> {
    const handled = lastValueFrom(next.handle(), { defaultValue: undefined });
    const answer: unknown = await handled.catch(async (error: unknown) => {
      await this.record(request, 'failure');
      throw error;
    });
    await this.record(request, 'success');
    return of(answer);
  }

  private async record(request: IdentifiedRequest, outcome: 'success' | 'failure'): Promise<void> {
    const { principal } = request;
    if (!principal) return;
    const read = { accountId: principal.accountId, action: readActionOf(pathOf(request)), outcome };
    await recordRead(this.database, actingOf(request, principal), { ...read, targets: targetsOf(request) });
  }
}

/** As the router spells it. */
const pathOf = (request: IdentifiedRequest): string => (request.route as { path: string }).path;

function isRead(request: IdentifiedRequest): boolean {
  const { method } = request;
  if (['GET', 'HEAD'].includes(method)) return upgradeOf(request) === undefined;
  return ALSO_READS.has(`${method} ${pathOf(request)}`);
}

/** `recordings.audio.read` of `/v1/recordings/:recording_id/audio`. */
export function readActionOf(path: string): string {
  const names = path.split('/').filter((part) => part !== '' && part !== 'v1' && !part.startsWith(':'));
  return `${names.join('.').replaceAll('-', '_')}.read`;
}

/** What the parameters of the path name, in their order. */
function targetsOf({ params }: IdentifiedRequest): AuditTarget[] {
  return Object.entries(params).flatMap(([name, id]) =>
    typeof id === 'string' && NAME.test(id) ? auditTarget(name.replace(/_id$/, ''), id) : [],
  );
}
