import { OnQueueCompleted, Process, Processor } from '@nestjs/bull';
import type { OnModuleInit } from '@nestjs/common';
import { ReconcilerService, repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import { LinkFetcherService } from './link-fetcher.service.js';
import { LINK_QUEUE, RecordingLinksService } from './recording-links.service.js';

/** Rows deleted by one statement. */
const BATCH = 1000;

/** A job wakes the fetcher within milliseconds. It may get lost, so every deliverer also looks every RECONCILE_SECONDS. */
@Processor(LINK_QUEUE)
export class LinksProcessor implements OnModuleInit {
  constructor(
    private readonly fetcher: LinkFetcherService,
    private readonly links: RecordingLinksService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fetch due links', async () => this.fetcher.wake(), { everyProcess: true });
    this.reconciler.register('forget old links', async () => {
      await repeatWhileFull(BATCH, () => this.links.forgetOld(BATCH));
    });
  }

  /** Nothing: the job has to leave Redis first, so that none waits for a host. */
  @Process()
  process(): void {}

  @OnQueueCompleted()
  wake(): void {
    this.fetcher.wake();
  }
}
