import { Controller, Get, Headers, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiProduces, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { RequireScope, CurrentPrincipal } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { InvalidRequestError, TooManyEventStreamsError } from '../../../platform/errors/errors.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import {
  EventPage,
  isSequence,
  LAST_EVENT_ID_RULE,
  ListEventsQuery,
  presentEventPage,
  StreamedEvent,
  StreamEventsQuery,
} from './event-feed.dto.js';
import { EventFeedService } from './event-feed.service.js';
import { STREAM_HEADERS } from './event-stream.js';
import { EventStreamsService, STREAM_SCOPE } from './event-streams.service.js';

const STREAM = {
  description: 'The events, until the client or the service ends the response.',
  content: {
    'text/event-stream': {
      // The content is text; `contentSchema` is the form of the messages in it.
      schema: {
        type: 'string' as const,
        contentMediaType: 'text/event-stream',
        contentSchema: { type: 'array', items: { $ref: getSchemaPath(StreamedEvent) } },
      },
      example:
        'id: 18\nevent: recording.transcribed\ndata: {"event":"recording.transcribed","timestamp":"2026-11-21T10:15:04Z","recording":{"id":"019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60","status":"transcribed","duration":11.001,"format":"webm","identity":null,"created_at":"2026-11-21T10:15:00Z","completed_at":"2026-11-21T10:15:04Z"}}\n\n',
    },
  },
};

@ApiTags('Events')
@Controller('v1/events')
export class EventFeedController {
  constructor(
    private readonly feed: EventFeedService,
    private readonly streams: EventStreamsService,
  ) {}

  /**
   * List events
   *
   * @remarks
   * Returns the events of the account, oldest first. A reader that follows `next_uri`, and later asks for what comes after
   * the last `sequence` it has, misses no event and gets none twice.
   */
  @Get()
  @ApiOkResponse({ type: EventPage })
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListEventsQuery,
    @Res() response: Response,
  ): Promise<void> {
    const after = await this.positionOf(accountId, query.after);
    const page = presentEventPage(query, await this.feed.page(accountId, after, query.limit));
    response.type('application/json; charset=utf-8').send(page);
  }

  /**
   * Stream events
   *
   * @remarks
   * Sends the same events as server-sent events, as they happen: `id` is the sequence, `event` the type, `data` the body.
   * The response does not end. A client that connects again with `Last-Event-ID` goes on after that event. A connection
   * takes one request of the rate limit.
   */
  @Get('stream')
  @ApiProduces('text/event-stream')
  @ApiExtraModels(StreamedEvent)
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The id of the last event that the client has. Replaces `after`.',
    schema: { type: 'string', pattern: '^[0-9]{1,15}$' },
  })
  @ApiOkResponse(STREAM)
  @ApiErrors(new TooManyEventStreamsError(10, 10))
  @RequireScope(STREAM_SCOPE)
  async stream(
    @CurrentPrincipal() { accountId, keyId, sessionId }: Principal,
    @Query() query: StreamEventsQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    if (lastEventId !== undefined && !isSequence(lastEventId)) {
      throw new InvalidRequestError({ field: 'Last-Event-ID', reason: LAST_EVENT_ID_RULE });
    }
    const position = await this.positionOf(accountId, lastEventId ?? query.after);
    if (request.method === 'HEAD') response.set(STREAM_HEADERS).end();
    else await this.streams.stream({ accountId, keyId, sessionId }, position, response);
  }

  private async positionOf(accountId: string, after: string): Promise<number> {
    return after === 'latest' ? await this.feed.latest(accountId) : Number(after);
  }
}
