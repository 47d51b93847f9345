import { Injectable } from '@nestjs/common';
import type { Logger } from 'pino';

/** Ids and facts of a security event. Never secrets, names, e-mail addresses or URLs. */
type Fields = Record<string, string | number | boolean | null | undefined | readonly unknown[]>;

/**
 * The stream of security events: what was done to credentials, and by whom. Its lines have `"log": "security"`, so that a
 * collector can keep them apart and for longer, and are written whatever LOG_LEVEL is, but `silent`.
 */
@Injectable()
export class SecurityLogService {
  private readonly logger: Logger;

  constructor(parent: Logger) {
    this.logger = parent.child({ log: 'security' }, { level: parent.level === 'silent' ? 'silent' : 'info' });
  }

  /** @param event a fixed phrase in lower case. */
  record(event: string, fields: Fields): void {
    this.logger.info(fields, event);
  }
}
