import { Inject, Injectable, Logger, type OnModuleDestroy, Optional } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { LeaseLoops } from '../../../platform/concurrency/lease-loops.js';
import { Env } from '../../../platform/config/env.js';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { AllowedNetworks } from '../../../platform/http/outgoing/address-rules.js';
import { Egress } from '../../../platform/http/outgoing/egress.js';
import { OutgoingRequestError } from '../../../platform/http/outgoing/outgoing-error.js';
import { Spool } from '../../../platform/storage/spool.js';
import { FetchedAudioService } from './fetched-audio.service.js';
import { DOWNLOAD_DEFAULTS, LinkDownload, type DownloadOptions } from './link-download.js';
import { LINK_ERRORS, LinkError, type LinkOutcome, toLinkError } from './link-error.js';
import { type LinkLease, RecordingLinksService } from './recording-links.service.js';

export interface FetcherOptions extends DownloadOptions {
  /** Gaps between attempts in seconds: n gaps make n + 1 attempts. */
  retrySeconds: readonly number[];
}

export const FETCHER_OPTIONS = Symbol('FETCHER_OPTIONS');

const DEFAULTS: FetcherOptions = { ...DOWNLOAD_DEFAULTS, retrySeconds: [5, 30, 120, 600] };
/** Links that one process fetches at the same time. */
const MAX_FETCHES = 8;
/** After an error of the service itself, which is no attempt at the link: doubled each time. */
const SERVICE_ERROR_SECONDS = 5;
const MAX_SERVICE_ERROR_SECONDS = 600;

/** Fetches the links of recordings. LinksProcessor and timers wake it. */
@Injectable()
export class LinkFetcherService implements OnModuleDestroy {
  private readonly logger = new Logger(LinkFetcherService.name);
  private readonly options: FetcherOptions;
  private readonly allowed: AllowedNetworks;
  private readonly egress: Egress;
  private readonly loops: LeaseLoops<LinkLease>;
  private readonly outcomes: Counter<'outcome'>;

  constructor(
    private readonly links: RecordingLinksService,
    private readonly audio: FetchedAudioService,
    private readonly spool: Spool,
    private readonly env: Env,
    registry: Registry,
    @Optional() @Inject(FETCHER_OPTIONS) options?: Partial<FetcherOptions>,
  ) {
    this.options = { ...DEFAULTS, ...options };
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
    this.egress = Egress.of(env);
    this.loops = new LeaseLoops(
      {
        limit: MAX_FETCHES,
        leaseSeconds: env.leaseSeconds,
        claim: (exceptAccounts) => this.links.claim(exceptAccounts),
        renew: (lease) => this.links.renew(lease),
        perform: (lease, attempt) => this.fetch(lease, attempt),
        fail: (lease, error, stopping) => this.fail(lease, error, stopping),
        release: (lease) => this.links.release(lease),
        messages: { notClaimed: 'links could not be claimed', notSaved: 'link outcome not saved' },
      },
      this.logger,
    );
    this.outcomes = new Counter({
      name: 'link_fetches_total',
      help: 'Attempts to fetch the link of a recording that have ended, by their outcome (D72).',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  /** Looks for due links, unless as many are being fetched as may be; then it looks when one has ended. */
  wake(): void {
    this.loops.wake();
  }

  /** Ends the fetches under way, which do not count as attempts. */
  async onModuleDestroy(): Promise<void> {
    await this.loops.stop();
  }

  private async fetch(lease: LinkLease, attempt: AbortController): Promise<void> {
    // A file may take as long as one that is uploaded.
    const tooLong = new OutgoingRequestError('timeout', 'the file did not arrive in time');
    const timer = setTimeout(() => attempt.abort(tooLong), this.env.uploadTimeoutSeconds * 1000);
    try {
      if (lease.attempt > this.options.retrySeconds.length + 1) throw LINK_ERRORS.exhausted();
      await this.fetchAndStore(lease, attempt.signal);
      this.outcomes.inc({ outcome: 'fetched' });
    } finally {
      clearTimeout(timer);
    }
  }

  private async fetchAndStore(lease: LinkLease, signal: AbortSignal): Promise<void> {
    await this.audio.discardEarlier(lease);
    const download = new LinkDownload(this.spool, { allowed: this.allowed, egress: this.egress }, this.options, signal);
    const { file, filename } = await download.run(this.links.urlOf(lease));
    try {
      await this.audio.store(lease, file, filename);
    } finally {
      await file.discard();
    }
  }

  /** Saves how an attempt has failed: the recording fails, or its link is due again later. */
  private async fail(lease: LinkLease, error: unknown, signal: AbortSignal): Promise<void> {
    const failure = error instanceof OutgoingRequestError ? toLinkError(error) : error;
    if (!(failure instanceof LinkError)) {
      this.logger.warn({ err: error, recording_id: lease.recordingId }, 'link not stored');
      const earlier = lease.claims - lease.attempt;
      const delaySeconds = Math.min(SERVICE_ERROR_SECONDS * 2 ** earlier, MAX_SERVICE_ERROR_SECONDS);
      return await retryWhileUnavailable(() => this.links.release(lease, { delaySeconds }), { signal });
    }
    this.count(lease, failure.outcome);
    const gapSeconds = this.options.retrySeconds[lease.attempt - 1];
    if (failure.retry === null || gapSeconds === undefined) {
      await retryWhileUnavailable(() => this.links.fail(lease, failure.reason), { signal });
      return;
    }
    const delaySeconds = Math.max(gapSeconds, failure.retry.afterMs / 1000);
    await retryWhileUnavailable(() => this.links.release(lease, { delaySeconds, attempts: 1 }), { signal });
    setTimeout(() => this.wake(), delaySeconds * 1000).unref();
  }

  private count({ recordingId, attempt }: LinkLease, outcome: LinkOutcome): void {
    this.outcomes.inc({ outcome });
    this.logger.log({ recording_id: recordingId, attempt, outcome }, 'link not fetched');
  }
}
