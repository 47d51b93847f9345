import { Entity, PrimaryColumn } from 'typeorm';

/** A deleted webhook whose deliveries are not all deleted yet. */
@Entity('removed_webhooks')
export class RemovedWebhook {
  @PrimaryColumn('uuid')
  webhookId: string;
}
