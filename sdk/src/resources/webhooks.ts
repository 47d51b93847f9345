import type { DeliveriesListData, WebhooksListData } from '../api/types.gen.js';
import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import { type Paged, pagesOf } from '../pages/paged.js';
import type {
  CreatedWebhook,
  Delivery,
  DeliveryDetails,
  DeliveryPage,
  NewWebhook,
  Redelivery,
  RedeliveryFilter,
  TestCall,
  Webhook,
  WebhookPage,
  WebhookUpdate,
} from '../types.js';

/** Webhooks of the account and what was sent to them. */
export class WebhooksResource {
  constructor(private readonly transport: Transport) {}

  /** All webhooks, the newest first. */
  list(query: WebhooksListData['query'] = {}, options?: RequestOptions): Paged<WebhookPage, Webhook> {
    return pagesOf(
      () => this.transport.json<WebhookPage>({ ...options, method: 'GET', path: '/webhooks', query }),
      (uri) => this.transport.follow<WebhookPage>(uri, options),
      (page) => page.webhooks,
    );
  }

  /** One webhook, without its secret. */
  get(id: string, options?: RequestOptions): Promise<Webhook> {
    return this.transport.json({ ...options, method: 'GET', path: pathOf(id) });
  }

  /** The answer has the secret, which is shown this once. Not repeated after a fault: a second webhook could be made. */
  create(fields: NewWebhook, options?: RequestOptions): Promise<CreatedWebhook> {
    return this.transport.json({ ...options, method: 'POST', path: '/webhooks', body: fields });
  }

  /** Replaces `url` and `events`; `secret` and `status` are kept when omitted. */
  update(id: string, fields: WebhookUpdate, options?: RequestOptions): Promise<Webhook> {
    return this.transport.json({ ...options, method: 'PUT', path: pathOf(id), body: fields });
  }

  /** Deletes a webhook and drops what was still to be sent to it. */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: pathOf(id) });
  }

  /** Sends `webhook.test` now and answers with the outcome. */
  test(id: string, options?: RequestOptions): Promise<TestCall> {
    return this.transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/test` });
  }

  /** The log of deliveries, the newest first. */
  deliveries(
    id: string,
    query: DeliveriesListData['query'] = {},
    options?: RequestOptions,
  ): Paged<DeliveryPage, Delivery> {
    return pagesOf(
      () => this.transport.json<DeliveryPage>({ ...options, method: 'GET', path: `${pathOf(id)}/deliveries`, query }),
      (uri) => this.transport.follow<DeliveryPage>(uri, options),
      (page) => page.deliveries,
    );
  }

  /** One delivery with its body and each attempt. */
  delivery(id: string, deliveryId: string, options?: RequestOptions): Promise<DeliveryDetails> {
    return this.transport.json({ ...options, method: 'GET', path: deliveryPath(id, deliveryId) });
  }

  /** Sends one delivery again. */
  redeliver(id: string, deliveryId: string, options?: RequestOptions): Promise<Delivery> {
    return this.transport.json({ ...options, method: 'POST', path: `${deliveryPath(id, deliveryId)}/redeliver` });
  }

  /** Sends again all that failed or was missed, in a range of days or at all. */
  redeliverMany(id: string, filter: RedeliveryFilter = {}, options?: RequestOptions): Promise<Redelivery> {
    return this.transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/redeliver`, body: filter });
  }
}

function pathOf(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`;
}

function deliveryPath(id: string, deliveryId: string): string {
  return `${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}`;
}
