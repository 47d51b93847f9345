import { readFileSync } from 'node:fs';
import { estimateBits, MIN_KEY_BITS } from './key-strength.js';

/**
 * The only reader of `process.env`. Everything is read and checked once, at boot, and every broken variable is
 * named in one error, so that a misconfigured process never starts half-way.
 */
export type Role = 'api' | 'transcriber' | 'deliverer';

/** How strictly processes that read strangers' audio are isolated: SANDBOX in docs/operations.md. */
export type SandboxMode = 'required' | 'auto' | 'off';

/** A token bucket: `rate` tokens a minute, at most `burst` at once. */
export interface RateLimit {
  rate: number;
  burst: number;
}

export class Env {
  readonly nodeEnv: 'development' | 'test' | 'production';
  readonly port: number;
  readonly host: string;
  readonly roles: readonly Role[];
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Null in a process that only transcribes, which needs none and does not read it (D38). */
  readonly secretKey: string | null;
  /** A second SECRET_KEY, whose hashes, texts and tokens are still read but no longer made. */
  readonly secretKeyPrevious: string | null;
  /** Name of a registered object store. */
  readonly storageDriver: string;
  /** Folder of the disk driver; with S3 it holds only the spool of uploads in progress. */
  readonly storageDir: string;
  /** Uploads are refused while less of the disk is free. */
  readonly storageMinFreeBytes: number;
  readonly s3Endpoint: string | null;
  readonly s3Region: string;
  readonly s3Bucket: string;
  readonly s3AccessKeyId: string | null;
  readonly s3SecretAccessKey: string | null;
  /** Name of a registered engine, or `auto`. */
  readonly transcriptionEngine: string;
  /** Recordings a worker process transcribes at once; null: four for each core. */
  readonly transcriptionConcurrency: number | null;
  readonly sandbox: SandboxMode;
  /** For the decoded audio that a worker process holds. */
  readonly transcriptionMemoryMb: number;
  readonly openaiBaseUrl: string | null;
  readonly openaiApiKey: string | null;
  readonly openaiModel: string;
  readonly maxAudioSeconds: number;
  readonly leaseSeconds: number;
  readonly uploadTimeoutSeconds: number;
  /** 0: never, which only a trial of what happens then should ask for. */
  readonly reconcileSeconds: number;
  readonly addressRateLimit: RateLimit;
  readonly webhookAllowedCidrs: readonly string[];
  /** Refuses `http:` URLs of webhooks outside `webhookAllowedCidrs`. */
  readonly webhookHttpsOnly: boolean;
  /** Gaps between delivery attempts in seconds: n gaps make n + 1 attempts. */
  readonly webhookRetrySchedule: readonly number[];
  /** Of a worker process, to all receivers together. */
  readonly webhookConnections: number;
  readonly webhookConnectionsPerHost: number;
  readonly eventRetentionDays: number;
  readonly corsOrigins: readonly string[];
  readonly metricsToken: string | null;
  /** Express's `trust proxy`: false, a number of hops, or the addresses and CIDRs of proxies. */
  readonly trustProxy: false | number | readonly string[];
  readonly logLevel: string;

  constructor(fields: Env) {
    Object.assign(this, fields);
  }
}

/** One line for each broken variable. */
export class InvalidEnvironmentError extends Error {
  override readonly name = 'InvalidEnvironmentError';

  constructor(problems: readonly string[]) {
    super(`Invalid environment variables:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const SECRET_KEY_LENGTH = 32;
/** Values of ROLES; `worker` is the name for both kinds of background work. */
const ROLES: Record<string, readonly Role[]> = {
  api: ['api'],
  transcriber: ['transcriber'],
  deliverer: ['deliverer'],
  worker: ['transcriber', 'deliverer'],
};
/** NAME_FILE names a file with the value of each, as container engines and systemd provide them. */
const SECRETS = new Set([
  'DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'OPENAI_API_KEY',
  'METRICS_TOKEN',
]);
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Reads and checks the environment.
 * @throws InvalidEnvironmentError
 */
export function readEnv(source: NodeJS.ProcessEnv): Env {
  const read = new Reader(source);
  const storageDriver = read.text('STORAGE_DRIVER') ?? 'disk';
  const nodeEnv = read.oneOf('NODE_ENV', ['development', 'test', 'production'], 'production');
  const roles = read.roles();
  const needsKey = roles.some((role) => role !== 'transcriber');
  const env = new Env({
    nodeEnv,
    port: read.integer('PORT', 3000, 0, 65535),
    host: read.text('HOST') ?? '0.0.0.0',
    roles,
    databaseUrl: read.url('DATABASE_URL', ['postgres:', 'postgresql:']) ?? read.missing('DATABASE_URL'),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']) ?? read.missing('REDIS_URL'),
    secretKey: needsKey ? read.secretKey('SECRET_KEY', nodeEnv) : null,
    secretKeyPrevious: needsKey ? read.otherSecret('SECRET_KEY_PREVIOUS', SECRET_KEY_LENGTH, 'SECRET_KEY') : null,
    storageDriver,
    storageDir: read.text('STORAGE_DIR') ?? './storage',
    storageMinFreeBytes: read.integer('STORAGE_MIN_FREE_BYTES', 2 ** 30, 0, Number.MAX_SAFE_INTEGER),
    s3Endpoint: read.url('S3_ENDPOINT', ['http:', 'https:']),
    s3Region: read.text('S3_REGION') ?? 'us-east-1',
    s3Bucket: read.text('S3_BUCKET') ?? (storageDriver === 's3' ? read.missing('S3_BUCKET') : 'voice-notes'),
    s3AccessKeyId: read.text('S3_ACCESS_KEY_ID'),
    s3SecretAccessKey: read.text('S3_SECRET_ACCESS_KEY'),
    transcriptionEngine: read.text('TRANSCRIPTION_ENGINE') ?? 'auto',
    transcriptionConcurrency: read.text('TRANSCRIPTION_CONCURRENCY')
      ? read.integer('TRANSCRIPTION_CONCURRENCY', 1, 1, 256)
      : null,
    sandbox: read.oneOf('SANDBOX', ['required', 'auto', 'off'], 'auto'),
    transcriptionMemoryMb: read.integer('TRANSCRIPTION_MEMORY_MB', 512, 64, 65_536),
    openaiBaseUrl: read.url('OPENAI_BASE_URL', ['http:', 'https:']),
    openaiApiKey: read.text('OPENAI_API_KEY'),
    openaiModel: read.text('OPENAI_MODEL') ?? 'whisper-1',
    maxAudioSeconds: read.integer('MAX_AUDIO_SECONDS', 7200, 1, 86_400),
    leaseSeconds: read.integer('LEASE_SECONDS', 60, 1, 3600),
    uploadTimeoutSeconds: read.integer('UPLOAD_TIMEOUT_SECONDS', 300, 1, 3600),
    reconcileSeconds: read.integer('RECONCILE_SECONDS', 5, 0, 3600),
    addressRateLimit: read.rateLimit('ADDRESS_RATE_LIMIT', { rate: 60, burst: 120 }),
    ...readWebhookSettings(read),
    eventRetentionDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3650),
    corsOrigins: read.list('CORS_ORIGINS', (item) => URL.canParse(item), 'origins such as https://app.example.com'),
    metricsToken: read.text('METRICS_TOKEN'),
    trustProxy: read.trustProxy(),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  });
  read.throwIfBroken();
  return env;
}

function readWebhookSettings(read: Reader) {
  return {
    webhookAllowedCidrs: read.list('WEBHOOK_ALLOWED_CIDRS', (item) => CIDR.test(item), 'CIDRs such as 10.0.0.0/8'),
    webhookHttpsOnly: read.oneOf('WEBHOOK_HTTPS_ONLY', ['true', 'false'], 'false') === 'true',
    webhookRetrySchedule: read.schedule('WEBHOOK_RETRY_SCHEDULE'),
    webhookConnections: read.integer('WEBHOOK_CONNECTIONS', 2000, 1, 50_000),
    webhookConnectionsPerHost: read.integer('WEBHOOK_CONNECTIONS_PER_HOST', 256, 1, 50_000),
  };
}

const CIDR = /^[0-9a-f:.]+\/\d{1,3}$/i;
const WEBHOOK_RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

class Reader {
  private readonly problems = new Set<string>();

  constructor(private readonly source: NodeJS.ProcessEnv) {}

  /** An empty value counts as absent: compose files pass unset variables on as empty strings. */
  text(name: string): string | null {
    const value = this.source[name]?.trim() || null;
    const file = SECRETS.has(name) ? this.source[`${name}_FILE`]?.trim() : null;
    if (!file) return value;
    return value === null
      ? this.contentOf(name, file)
      : this.refuse(name, `and ${name}_FILE must not both be set`, value);
  }

  missing(name: string): string {
    return this.refuse(name, 'is required', '');
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name);
    if (text === null) return fallback;
    const value = Number(text);
    const valid = /^\d+$/.test(text) && value >= min && value <= max;
    return valid ? value : this.refuse(name, `must be an integer from ${min} to ${max}`, fallback);
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const text = this.text(name);
    if (text === null) return fallback;
    return allowed.find((item) => item === text) ?? this.refuse(name, `must be one of ${allowed.join(', ')}`, fallback);
  }

  url(name: string, protocols: readonly string[]): string | null {
    const text = this.text(name);
    if (text === null) return null;
    const valid = URL.canParse(text) && protocols.includes(new URL(text).protocol);
    return valid ? text : this.refuse(name, `must be a URL that starts with ${protocols[0]}//`, text);
  }

  list(name: string, valid: (item: string) => boolean, what: string): string[] {
    const items = (this.text(name) ?? '').split(',').flatMap((item) => item.trim() || []);
    return items.every(valid) ? items : this.refuse(name, `must be ${what}, separated by commas`, []);
  }

  secret(name: string, minLength: number): string | null {
    const text = this.text(name);
    if (text === null || text.length >= minLength) return text;
    return this.refuse(name, `must be at least ${minLength} characters long`, text);
  }

  secretKey(name: string, nodeEnv: Env['nodeEnv']): string {
    const key = this.secret(name, SECRET_KEY_LENGTH) ?? this.missing(name);
    const isWeak = nodeEnv === 'production' && key.length >= SECRET_KEY_LENGTH && estimateBits(key) < MIN_KEY_BITS;
    return isWeak ? this.refuse(name, 'is easy to guess; make one with: openssl rand -base64 48', key) : key;
  }

  /** A secret that would be of no use if it were the same as the one called `first`. */
  otherSecret(name: string, minLength: number, first: string): string | null {
    const text = this.secret(name, minLength);
    return text !== null && text === this.text(first) ? this.refuse(name, `must differ from ${first}`, text) : text;
  }

  roles(): Role[] {
    const names = this.list(
      'ROLES',
      (item) => Object.hasOwn(ROLES, item),
      `one or more of ${Object.keys(ROLES).join(', ')}`,
    );
    const roles = names.flatMap((name) => ROLES[name] ?? []);
    return roles.length > 0 ? [...new Set(roles)] : ['api', 'transcriber', 'deliverer'];
  }

  rateLimit(name: string, fallback: RateLimit): RateLimit {
    const text = this.text(name);
    if (text === null) return fallback;
    const [, rate, burst] = /^(\d{1,7})\/(\d{1,7})$/.exec(text)?.map(Number) ?? [];
    if (rate && burst && burst >= rate) return { rate, burst };
    return this.refuse(name, 'must be rate/burst in requests a minute, such as 60/120, burst not below rate', fallback);
  }

  schedule(name: string): number[] {
    const items = this.list(name, (item) => /^\d{1,7}$/.test(item), 'seconds between attempts');
    return items.length > 0 ? items.map(Number) : WEBHOOK_RETRY_SECONDS;
  }

  trustProxy(): false | number | string[] {
    const text = this.text('TRUST_PROXY');
    if (text === null || text === 'false') return false;
    if (/^\d{1,2}$/.test(text)) return Number(text);
    return this.list(
      'TRUST_PROXY',
      (item) => /^[0-9a-f:.]+(\/\d{1,3})?$/i.test(item),
      'false, a number of hops, or CIDRs',
    );
  }

  throwIfBroken(): void {
    if (this.problems.size > 0) throw new InvalidEnvironmentError([...this.problems]);
  }

  private refuse<T>(name: string, rule: string, stand: T): T {
    this.problems.add(`${name} ${rule}`);
    return stand;
  }

  /** Without the newline that editors and `echo` append. */
  private contentOf(name: string, file: string): string | null {
    try {
      return readFileSync(file, 'utf8').trim() || null;
    } catch (error) {
      return this.refuse(`${name}_FILE`, `cannot be read: ${(error as NodeJS.ErrnoException).code}`, null);
    }
  }
}
