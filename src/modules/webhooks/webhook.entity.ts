import { Column, Entity, PrimaryColumn } from 'typeorm';

export const WEBHOOK_STATUSES = ['active', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** What the callback of a recording is told. */
export const CALLBACK_KINDS: readonly string[] = ['recording.transcribed', 'recording.failed'];

/**
 * Stands in `events` of a callback, which is found by its recording: processes of the release before, which know only
 * `events`, send it nothing.
 */
export const CALLBACK_EVENTS = ['callback'];

@Entity('webhooks')
export class Webhook {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** The only recording whose end it is told of; null for a webhook that the account has created (D73). */
  @Column('uuid', { nullable: true })
  recordingId: string | null;

  @Column('text')
  url: string;

  @Column('text', { array: true })
  events: string[];

  /** Decrypts only together with the webhook's id. */
  @Column('text')
  encryptedSecret: string;

  /** The secret before this one, which still signs until `previousSecretUntil` (D37). */
  @Column('text', { nullable: true })
  previousEncryptedSecret: string | null;

  @Column('timestamptz', { nullable: true })
  previousSecretUntil: Date | null;

  @Column('text')
  status: WebhookStatus;

  /** Time of the first failure since the last success. */
  @Column('timestamptz', { nullable: true })
  failingSince: Date | null;

  @Column('integer')
  consecutiveFailures: number;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}

/** A deleted webhook whose deliveries are not all deleted yet. */
@Entity('removed_webhooks')
export class RemovedWebhook {
  @PrimaryColumn('uuid')
  webhookId: string;
}
