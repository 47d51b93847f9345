import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { IdentifiedRequest } from '../access/access.decorators.js';
import { isRecordingOfUser } from '../access/accounts.queries.js';
import { DatabaseService } from '../platform/database/database.service.js';
import { isResourceId } from '../platform/database/find-or-fail.js';
import { NotFoundError } from '../platform/errors/errors.js';
import { AccessRulesService } from './scope.guard.js';

/** The parameter of every path to a single recording. */
const RECORDING_ID = 'recording_id';

/** For an end user there is no recording but their own, whatever the handler does with it (D94). */
@Injectable()
export class OwnRecordingGuard implements CanActivate {
  constructor(
    private readonly rules: AccessRulesService,
    private readonly database: DatabaseService,
  ) {}

  /** @throws NotFoundError */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { principal, params } = context.switchToHttp().getRequest<IdentifiedRequest>();
    const id = params[RECORDING_ID];
    if (this.rules.of(context).endUserRight === undefined) return true;
    if (principal?.credential !== 'access_token' || typeof id !== 'string') return true;
    const { accountId, userId } = principal;
    const isOwn =
      userId !== null && isResourceId(id) && (await isRecordingOfUser(this.database, { accountId, userId, id }));
    if (!isOwn) throw new NotFoundError('recording');
    return true;
  }
}
