import { InjectQueue, OnQueueCompleted, Process, Processor } from '@nestjs/bull';
import type { OnModuleInit } from '@nestjs/common';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { MailSenderService } from './mail-sender.service.js';
import { type MailJob, SignInMailsService } from './sign-in-mails.service.js';

export const MAIL_QUEUE = 'sign-in-mails';

/** A job wakes a sender within milliseconds. It may get lost, so every process also looks every RECONCILE_SECONDS. */
@Processor(MAIL_QUEUE)
export class SignInMailsProcessor implements OnModuleInit {
  constructor(
    @InjectQueue(MAIL_QUEUE) private readonly queue: JobQueue<MailJob>,
    private readonly sender: MailSenderService,
    private readonly mails: SignInMailsService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.mails.useQueue(this.queue);
    this.reconciler.register('send due mails', async () => this.sender.wake(), { everyProcess: true });
  }

  /** Nothing: the job has to leave Redis first, so that none waits for a server. */
  @Process()
  process(): void {}

  @OnQueueCompleted()
  wake(): void {
    this.sender.wake();
  }
}
