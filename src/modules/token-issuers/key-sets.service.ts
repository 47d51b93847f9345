import { Injectable, Logger } from '@nestjs/common';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { Env } from '../../platform/config/env.js';
import { AllowedNetworks } from '../../platform/http/outgoing/address-rules.js';
import { Egress } from '../../platform/http/outgoing/egress.js';
import { fetchKeys } from './fetch-keys.js';

/** A key that its issuer no longer publishes is good for at most this long. */
const FRESH_MS = 600_000;
/** Keys are used for this long while their source does not answer. */
const KEPT_MS = 86_400_000;
/** Between two attempts at one source, whatever tokens ask for. */
const PAUSE_MS = 30_000;
const MAX_SETS = 1000;

/** What is known of one source. */
interface Source {
  keys: JWTVerifyGetKey | null;
  fetchedAt: number;
  /** Of the last attempt, and whether it succeeded. */
  triedAt: number;
  failed: boolean;
  attempt: Promise<void> | null;
}

/** The public keys behind JWKS URLs, kept in the memory of this process (D94). */
@Injectable()
export class KeySetsService {
  private readonly logger = new Logger(KeySetsService.name);
  private readonly allowed: AllowedNetworks;
  private readonly egress: Egress;
  private readonly sources = new LRUCache<string, Source>({ max: MAX_SETS });

  constructor(env: Env) {
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
    this.egress = Egress.of(env);
  }

  /**
   * Null while the keys cannot be had. Only the first requests wait for a fetch, 5 s at most: after a failure the keys
   * from before are used at once, and tried for in the background.
   */
  async get(url: string): Promise<JWTVerifyGetKey | null> {
    const source = this.sourceOf(url);
    if (source.keys && Date.now() - source.fetchedAt < FRESH_MS) return source.keys;
    const attempt = this.attempt(url, source);
    if (!source.keys || !source.failed) await attempt;
    return Date.now() - source.fetchedAt < KEPT_MS ? source.keys : null;
  }

  /** For a token whose key is unknown: the keys after another fetch; null if there was one less than 30 s ago. */
  async renew(url: string): Promise<JWTVerifyGetKey | null> {
    const source = this.sourceOf(url);
    const before = source.keys;
    await this.attempt(url, source);
    return source.keys === before ? null : source.keys;
  }

  private sourceOf(url: string): Source {
    const known = this.sources.get(url);
    if (known) return known;
    const source: Source = { keys: null, fetchedAt: -Infinity, triedAt: -Infinity, failed: false, attempt: null };
    this.sources.set(url, source);
    return source;
  }

  /** The one in progress, or a new one unless the last was a moment ago. Never rejects. */
  private async attempt(url: string, source: Source): Promise<void> {
    if (!source.attempt && Date.now() - source.triedAt >= PAUSE_MS) {
      source.triedAt = Date.now();
      source.attempt = this.fetch(url, source).finally(() => (source.attempt = null));
    }
    await source.attempt;
  }

  private async fetch(url: string, source: Source): Promise<void> {
    try {
      // Checks the form of the set; a key is read when a token needs it.
      source.keys = createLocalJWKSet((await fetchKeys(url, this.allowed, this.egress)) as JSONWebKeySet);
      source.fetchedAt = Date.now();
      source.failed = false;
    } catch (error) {
      source.failed = true;
      // The host alone: a path may hold a secret.
      this.logger.warn({ err: error, host: new URL(url).host }, 'keys of a token issuer not fetched');
    }
  }
}
