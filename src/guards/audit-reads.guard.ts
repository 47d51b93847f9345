import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { IdentifiedRequest } from '../access/access.decorators.js';
import { actingOf } from '../access/acting.js';
import { type AuditTarget, auditTarget, recordRead } from '../access/audit-trail.js';
import type { Principal } from '../access/principal.js';
import { DatabaseService } from '../platform/database/database.service.js';
import { doBeforeAnswer } from '../platform/http/server/before-answer.js';
import { MCP_PATH } from '../platform/http/server/request-line.js';
import { upgradeOf } from '../platform/http/server/upgrade.js';
import { requestIdOf } from '../platform/observability/request-log.middleware.js';

/** Requests that read, although their method is another. */
const ALSO_READS = new Set(['POST /v1/recordings/:recording_id/audio-url', `POST ${MCP_PATH}`]);
/** What a path parameter is if it names something; other text is no more than what a client has sent. */
const NAME = /^[\w.:@-]{1,100}$/;

/**
 * Lets requests that read pass on the condition that they are recorded, for accounts that want it (D98). A guard, because
 * an interceptor takes 20 to 25 µs CPU of every request, recorded or not (decision 0036).
 */
@Injectable()
export class AuditReadsGuard implements CanActivate {
  private readonly logger = new Logger(AuditReadsGuard.name);

  constructor(private readonly database: DatabaseService) {}

  canActivate(context: ExecutionContext): true {
    const http = context.switchToHttp();
    const request = http.getRequest<IdentifiedRequest>();
    const { principal } = request;
    if (principal?.recordsReads === true && isRead(request)) {
      doBeforeAnswer(
        http.getResponse<Response>(),
        async (failed) => await this.record(request, principal, failed ? 'failure' : 'success'),
        (err) => this.logger.error({ err, request_id: requestIdOf(request) }, 'read not recorded in the audit log'),
      );
    }
    return true;
  }

  private async record(
    request: IdentifiedRequest,
    principal: Principal,
    outcome: 'success' | 'failure',
  ): Promise<void> {
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
