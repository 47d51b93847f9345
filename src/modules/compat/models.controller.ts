import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../access/access.decorators.js';
import { NotFoundError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { isCleanText } from '../../platform/http/input/rules.js';
import { ApiErrorsIn } from '../../platform/http/openapi.js';
import { ModelsView, ModelView, presentModel } from './models.dto.js';
import { OPENAI_ERRORS } from './openai-errors.js';

/** What most clients send. */
const MODEL = 'whisper-1';
const MAX_MODEL = 200;

@ApiTags('Compatible')
@Controller('v1/models')
export class ModelsController {
  /**
   * List models
   *
   * @remarks
   * For clients of OpenAI that ask which names they can send. A transcription takes any name: the service decides which
   * engine transcribes.
   */
  @Get()
  @RequireScope('recordings:read')
  list(@Query() _query: NoQuery): ModelsView {
    return { object: 'list', data: [presentModel(MODEL)] };
  }

  /**
   * Get a model
   *
   * @remarks
   * Answers for any name that a transcription takes.
   * @param name Name of the model.
   */
  @Get(':model')
  @ApiErrorsIn(OPENAI_ERRORS, new NotFoundError('model'))
  @RequireScope('recordings:read')
  get(@Param('model') name: string, @Query() _query: NoQuery): ModelView {
    if (name.length > MAX_MODEL || !isCleanText(name)) throw new NotFoundError('model');
    return presentModel(name);
  }
}
