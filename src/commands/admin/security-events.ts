import type { INestApplicationContext } from '@nestjs/common';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';

/** Records what an operator did, on standard error: the user of the operating system is all that is known of who. */
export function recordByOperator(
  app: INestApplicationContext,
  event: string,
  fields: Record<string, string | readonly string[]>,
): void {
  app.get(SecurityLogService).record(event, { by: 'operator', by_uid: process.getuid?.(), ...fields });
}
