import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import { findOrFail } from '../../../platform/database/find-or-fail.js';
import { SecretsService } from '../../../platform/secrets.service.js';
import { RecordingAccepted, RecordingDeleted } from '../../recordings/recordings.events.js';
import { RemovedWebhooksService } from '../deliveries/removed-webhooks.service.js';
import { CALLBACK_EVENTS, Webhook } from '../webhook.entity.js';

/** The webhook that an upload names for its recording alone (D73): it is created, and goes, with the recording. */
@Injectable()
export class CallbacksService implements OnModuleInit {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly bus: EventBus,
    private readonly secrets: SecretsService,
    private readonly removedWebhooks: RemovedWebhooksService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(RecordingAccepted, (event, tx) => this.create(tx, event), core);
    this.bus.on(RecordingDeleted, ({ recording }, tx) => this.delete(tx, recording.accountId, recording.id), core);
  }

  /** @throws NotFoundError */
  async get(accountId: string, recordingId: string): Promise<Webhook> {
    return await findOrFail('callback', recordingId, () => this.webhooks.findOneBy({ accountId, recordingId }));
  }

  private async create(tx: Tx, { recording, upload }: RecordingAccepted): Promise<void> {
    if (!upload?.callback) return;
    const { url, secret } = upload.callback;
    const id = uuidv7();
    await tx.manager.insert(Webhook, {
      id,
      accountId: recording.accountId,
      recordingId: recording.id,
      url,
      events: CALLBACK_EVENTS,
      encryptedSecret: this.secrets.encrypt(secret, id),
      status: 'active',
      consecutiveFailures: 0,
      createdAt: recording.createdAt,
      updatedAt: recording.createdAt,
    });
  }

  /** With its deliveries, of which there are a few. */
  private async delete(tx: Tx, accountId: string, recordingId: string): Promise<void> {
    const callback = await tx.manager.findOne(Webhook, { select: { id: true }, where: { accountId, recordingId } });
    if (!callback) return;
    await tx.manager.delete(Webhook, { id: callback.id, accountId });
    await this.removedWebhooks.deleteDeliveries(tx, callback.id);
  }
}
