import { ApiProperty } from '@nestjs/swagger';
import { type CataloguedKind, eventCatalogue, exampleBody } from './event-catalogue.js';

export class EventTypeView {
  /** As `event` of its body has it. */
  @ApiProperty({ example: 'recording.transcribed' })
  name: string;

  @ApiProperty({ example: 'The transcription is available.' })
  description: string;

  /** Whether webhooks can subscribe to it. */
  @ApiProperty({ example: true })
  can_subscribe: boolean;

  /** Whether `GET /v1/events` lists it. */
  @ApiProperty({ example: true })
  in_feed: boolean;

  /** A body. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: exampleBody(eventCatalogue()[0]!) })
  example: object;
}

export class EventTypesView {
  event_types: EventTypeView[];

  /** Path of this list. */
  @ApiProperty({ example: '/v1/event-types' })
  uri: string;
}

export function presentEventTypes(kinds: readonly CataloguedKind[]): EventTypesView {
  return { event_types: kinds.map(presentEventType), uri: '/v1/event-types' };
}

const presentEventType = (kind: CataloguedKind): EventTypeView => ({
  name: kind.kind,
  description: kind.description,
  can_subscribe: kind.canSubscribe,
  in_feed: kind.inFeed,
  example: exampleBody(kind),
});
