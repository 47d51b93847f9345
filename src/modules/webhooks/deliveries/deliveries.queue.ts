export const DELIVERY_QUEUE = 'deliveries';

/** Names a webhook with due deliveries; one job covers any number of them. */
export type DeliveryJob = { webhookId: string };
