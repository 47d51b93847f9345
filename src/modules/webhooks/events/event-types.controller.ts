import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../../access/access.decorators.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { eventCatalogue } from './event-catalogue.js';
import { EventTypesView, presentEventTypes } from './event-types.dto.js';

@ApiTags('Events')
@Controller('v1/event-types')
export class EventTypesController {
  /**
   * List event types
   *
   * @remarks
   * Returns every type of event with an example of its body: those that webhooks can subscribe to, those that only the event
   * feed has, and test calls. They are the same for all accounts.
   */
  @Get()
  @RequireScope('webhooks:read')
  list(@Query() _query: NoQuery): EventTypesView {
    return presentEventTypes(eventCatalogue());
  }
}
