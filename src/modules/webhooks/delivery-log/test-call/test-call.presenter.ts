import { ApiProperty } from '@nestjs/swagger';
import { AttemptView, presentAttempt } from '../delivery.presenter.js';
import type { TestOutcome } from './test-calls.service.js';

export class TestCallView {
  /** As in `X-Service-Event-Id`. The event is in no list. */
  @ApiProperty({ example: '019aa5c3-7d0f-7b21-9c11-5f6e7d8c9b0a', format: 'uuid' })
  event_id: string;

  /** What came back, as in the delivery log. */
  attempt: AttemptView;

  /** The webhook. */
  @ApiProperty({ example: '/v1/webhooks/019aa5c2-3b4c-7d5e-9f60-718293a4b5c6' })
  uri: string;
}

export function presentTestCall(webhookId: string, { eventId, attempt }: TestOutcome): TestCallView {
  return { event_id: eventId, attempt: presentAttempt(attempt), uri: `/v1/webhooks/${webhookId}` };
}
