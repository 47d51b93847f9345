import type {
  DeliveriesGetResponse,
  DeliveriesListData,
  DeliveriesListResponse,
  DeliveriesRedeliverManyData,
  DeliveriesRedeliverManyResponse,
  DeliveriesRedeliverResponse,
  TestCallsSendResponse,
  WebhooksCreateData,
  WebhooksCreateResponse,
  WebhooksGetResponse,
  WebhooksListData,
  WebhooksListResponse,
  WebhooksUpdateData,
  WebhooksUpdateResponse,
} from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';
import { Paged } from '../pages/paged.js';

export type Webhook = WebhooksListResponse['webhooks'][number];
export type Delivery = DeliveriesListResponse['deliveries'][number];

export class WebhooksResource {
  constructor(private readonly transport: Transport) {}

  list(query: WebhooksListData['query'] = {}, options?: RequestOptions): Paged<WebhooksListResponse, Webhook> {
    return new Paged(
      (page = query?.page) =>
        this.transport.json({ method: 'GET', path: '/webhooks', query: { ...query, page }, ...options }),
      (page) => page.webhooks,
    );
  }

  get(id: string, options?: RequestOptions): Promise<WebhooksGetResponse> {
    return this.transport.json({ method: 'GET', path: pathOf(id), ...options });
  }

  /** The answer has the secret, which is shown this once. */
  create(fields: WebhooksCreateData['body'], options?: RequestOptions): Promise<WebhooksCreateResponse> {
    return this.transport.json({ method: 'POST', path: '/webhooks', body: fields, ...options });
  }

  update(id: string, fields: WebhooksUpdateData['body'], options?: RequestOptions): Promise<WebhooksUpdateResponse> {
    return this.transport.json({ method: 'PUT', path: pathOf(id), body: fields, ...options });
  }

  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /** Sends `webhook.test` now and answers with the outcome. */
  test(id: string, options?: RequestOptions): Promise<TestCallsSendResponse> {
    return this.transport.json({ method: 'POST', path: `${pathOf(id)}/test`, ...options });
  }

  deliveries(
    id: string,
    query: DeliveriesListData['query'] = {},
    options?: RequestOptions,
  ): Paged<DeliveriesListResponse, Delivery> {
    return new Paged(
      (page = query?.page) =>
        this.transport.json({ method: 'GET', path: `${pathOf(id)}/deliveries`, query: { ...query, page }, ...options }),
      (page) => page.deliveries,
    );
  }

  /** One delivery with its body and each attempt. */
  delivery(id: string, deliveryId: string, options?: RequestOptions): Promise<DeliveriesGetResponse> {
    return this.transport.json({ method: 'GET', path: deliveryPath(id, deliveryId), ...options });
  }

  redeliver(id: string, deliveryId: string, options?: RequestOptions): Promise<DeliveriesRedeliverResponse> {
    return this.transport.json({ method: 'POST', path: `${deliveryPath(id, deliveryId)}/redeliver`, ...options });
  }

  /** Sends again all that failed or was missed, in a range of days or at all. */
  redeliverMany(
    id: string,
    range: DeliveriesRedeliverManyData['body'] = {},
    options?: RequestOptions,
  ): Promise<DeliveriesRedeliverManyResponse> {
    return this.transport.json({ method: 'POST', path: `${pathOf(id)}/redeliver`, body: range, ...options });
  }
}

function pathOf(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`;
}

function deliveryPath(id: string, deliveryId: string): string {
  return `${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}`;
}
