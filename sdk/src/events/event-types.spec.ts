import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventBody, Webhooks } from '../api/types.gen.js';
import { type AccountEvent, WEBHOOK_EVENTS, type WebhookEvent, type WebhookEventBody } from './event-types.js';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** The compiler compares these with the types that are generated from openapi.json. */
const WEBHOOKS: Same<WebhookEventBody['event'], Webhooks['key']> = true;
const BODIES: Same<WebhookEventBody, Webhooks['body']> = true;
const FEED: Same<AccountEvent['body'], EventBody> = true;
const SUBSCRIBED: Same<WebhookEvent, Exclude<Webhooks['key'], 'webhook.test'>> = true;

describe('the types of events', () => {
  it('are those of the catalogue', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../openapi.json'), 'utf8');
    const { webhooks } = JSON.parse(text) as { webhooks: Record<string, unknown> };
    expect([...WEBHOOK_EVENTS, 'webhook.test']).toEqual(Object.keys(webhooks));
    expect([WEBHOOKS, BODIES, FEED, SUBSCRIBED]).toEqual([true, true, true, true]);
  });
});
