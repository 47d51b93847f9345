import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';
import { addGauge } from '../../../platform/observability/metrics.js';
import { LiveRecognitionService } from '../../transcriptions/live/live-recognition.service.js';
import { claimLiveWords } from './live-words.queries.js';
import { LEASE_SECONDS, LiveWordsRunService } from './live-words-run.service.js';

/** Somebody who speaks without a pause takes up to half a core; with the usual pauses three take no more than one. */
const SESSIONS_PER_CORE = 3;
/** Looks for live recordings this often. */
const POLL_MS = 500;

/** Claims live recordings and has their words recognised. Postgres decides who gets which, as for other recordings. */
@Injectable()
export class LiveWordsWorkerService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(LiveWordsWorkerService.name);
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private readonly maximum: number;
  private search: Promise<void> | null = null;
  private poll: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: DatabaseService,
    private readonly runs: LiveWordsRunService,
    recognition: LiveRecognitionService,
    private readonly env: Env,
    registry: Registry,
  ) {
    this.maximum = env.liveSessions ?? SESSIONS_PER_CORE * os.availableParallelism();
    const sessions = 'Live recordings whose words this process recognises.';
    addGauge(registry, 'live_sessions', sessions, () => this.running.size);
    const processes = 'Processes that recognise while one speaks.';
    addGauge(registry, 'live_engine_processes', processes, () => recognition.processes);
  }

  /** Live recordings in progress. */
  get sessions(): number {
    return this.running.size;
  }

  onApplicationBootstrap(): void {
    if (this.env.reconcileSeconds > 0) this.poll = setInterval(() => void this.wake(), POLL_MS);
  }

  /** Leases are released while Postgres is still connected, so that another transcriber goes on at once. */
  async onModuleDestroy(): Promise<void> {
    clearInterval(this.poll);
    this.stopping.abort(new Error('the transcriber stops'));
    await this.search;
    await Promise.allSettled(this.running);
  }

  /** Claims what is due, as far as its limit allows. Never throws. */
  async wake(): Promise<void> {
    this.search ??= this.claimAll().finally(() => {
      this.search = null;
    });
    await this.search;
  }

  private async claimAll(): Promise<void> {
    try {
      while (!this.stopping.signal.aborted && this.running.size < this.maximum) {
        const lease = await claimLiveWords(this.database, randomUUID(), LEASE_SECONDS);
        if (!lease) return;
        const run = this.runs
          .perform(lease, this.stopping.signal)
          .catch((error: unknown) =>
            this.logger.warn({ err: error as Error, recording_id: lease.recordingId }, 'live words not released'),
          )
          .finally(() => this.running.delete(run));
        this.running.add(run);
      }
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.warn({ err: error as Error }, 'live recordings not claimed');
    }
  }
}
