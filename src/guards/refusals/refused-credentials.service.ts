import type { IncomingHttpHeaders } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { readCredentials } from '../authentication/sent-credentials.js';

const INTERVAL_MS = 60_000;
/** Addresses that are told apart in an interval, to bound memory. */
const MAX_ADDRESSES = 10_000;
const NAMED_ADDRESSES = 5;

type Kind = 'key_pair' | 'access_token';

/** Counts refused credentials and logs the counts once a minute: a line each would let strangers fill the log. */
@Injectable()
export class RefusedCredentialsService implements OnApplicationShutdown {
  private readonly refusals: Counter<'kind'>;
  private counts: Record<Kind, number> = { key_pair: 0, access_token: 0 };
  private addresses = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: SecurityLogService,
    registry: Registry,
  ) {
    this.refusals = new Counter({
      name: 'credentials_refused_total',
      help: 'Requests whose key pair or access token was not valid.',
      labelNames: ['kind'],
      registers: [registry],
    });
  }

  /** Requests without any credentials do not count. */
  count(headers: IncomingHttpHeaders, address: string | undefined): void {
    const kind = kindOf(headers);
    if (kind === null) return;
    this.refusals.inc({ kind });
    this.counts[kind]++;
    const name = address ?? 'unknown';
    const before = this.addresses.get(name);
    if (before !== undefined || this.addresses.size < MAX_ADDRESSES) this.addresses.set(name, (before ?? 0) + 1);
    this.timer ??= setTimeout(() => this.flush(), INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    if (this.timer) this.flush();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const most = [...this.addresses].toSorted(([, a], [, b]) => b - a).slice(0, NAMED_ADDRESSES);
    this.log.record('credentials refused', {
      key_pairs: this.counts.key_pair,
      access_tokens: this.counts.access_token,
      addresses: this.addresses.size,
      most: most.map(([address, count]) => ({ address, count })),
    });
    this.counts = { key_pair: 0, access_token: 0 };
    this.addresses = new Map();
  }
}

/** Null for a request without credentials. */
function kindOf(headers: IncomingHttpHeaders): Kind | null {
  const sent = readCredentials(headers);
  if (!sent || sent.keyPair) return 'key_pair';
  return sent.token === null ? null : 'access_token';
}
