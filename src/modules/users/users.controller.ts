import { Controller, Delete, HttpCode, Param, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { isCleanText } from '../../platform/http/input/rules.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { UsersService } from './users.service.js';

const MAX_USER_ID = 255;
const invalidUser = () =>
  new InvalidRequestError({
    field: 'user_id',
    reason: `must be text of 1 to ${MAX_USER_ID} characters without control characters`,
  });

class ErasedUserView {
  /** Recordings that this request deleted. */
  @ApiProperty({ type: 'integer', example: 12 })
  deleted_recordings: number;

  /** Events from which this request removed the user and the tags. */
  @ApiProperty({ type: 'integer', example: 24 })
  redacted_events: number;

  /** Only if there are any: recordings on hold, which are not deleted. Release them, and erase the user again. */
  @ApiProperty({ type: 'integer', required: false, example: 1 })
  held_recordings?: number;

  /** False when there is so much that the rest follows in the background, or when recordings are on hold. */
  @ApiProperty({ example: true })
  complete: boolean;
}

@ApiTags('Users')
@Controller('v1/users')
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Erase an end user
   *
   * @remarks
   * Deletes all recordings of the user, with their transcriptions and audio, and removes the user and the tags from stored
   * events. A second call deletes nothing. Void the access tokens of the user first, or they can upload again.
   * @param userId Identity of the end user, as in the access tokens.
   */
  @Delete(':user_id')
  @HttpCode(202)
  @ApiParam({ name: 'user_id', schema: { type: 'string', minLength: 1, maxLength: MAX_USER_ID } })
  @ApiAcceptedResponse({ type: ErasedUserView })
  @ApiErrors(invalidUser())
  @RequireScope('account:write')
  async erase(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('user_id') userId: string,
    @Query() _query: NoQuery,
  ): Promise<ErasedUserView> {
    if (!isCleanText(userId) || [...userId].length > MAX_USER_ID) throw invalidUser();
    const { deletedRecordings, redactedEvents, heldRecordings, complete } = await this.users.erase(accountId, userId);
    this.securityLog.record('end user erased', { ...actor, deleted_recordings: deletedRecordings });
    return {
      deleted_recordings: deletedRecordings,
      redacted_events: redactedEvents,
      ...(heldRecordings > 0 && { held_recordings: heldRecordings }),
      complete,
    };
  }
}
