import type { AudioFormat } from '../audio-formats.js';
import { EnvReader, type RateLimit, type Role, SECRET_KEY_LENGTH } from './env-reader.js';
import { readModelSettings } from './model-settings.js';

export { InvalidEnvironmentError, type RateLimit, type Role } from './env-reader.js';

/** How strictly processes that read strangers' audio are isolated: SANDBOX in docs/operations.md. */
export type SandboxMode = 'required' | 'auto' | 'off';

/** How speech is told from other sound: SPEECH_DETECTOR in docs/operations.md. */
export type SpeechDetectorChoice = 'auto' | 'energy';

/**
 * What `readEnv` found in `process.env`, which nothing else reads. Everything is read and checked once, at boot, and every
 * broken variable is named in one error, so that a misconfigured process never starts half-way.
 */
export class Env {
  readonly nodeEnv: 'development' | 'test' | 'production';
  readonly port: number;
  readonly host: string;
  readonly roles: readonly Role[];
  readonly databaseUrl: string;
  /** Behind a pooler, which refuses settings and may change the session with every transaction. */
  readonly databasePooler: boolean;
  /** Connections of a process to Postgres. */
  readonly poolSize: number;
  readonly databasePreparedStatements: boolean;
  /** With sentinels its host and port are not used. */
  readonly redisUrl: string;
  /** As host:port; empty without Sentinel. */
  readonly redisSentinels: readonly string[];
  readonly redisSentinelName: string;
  readonly redisSentinelPassword: string | null;
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
  /** Engines that clients of accounts without engines of their own may name. */
  readonly clientEngines: readonly string[];
  /** Recordings a worker process transcribes at once; null: four for each core. */
  readonly transcriptionConcurrency: number | null;
  readonly sandbox: SandboxMode;
  /** Folder of models of speech recognition, each in a folder of its own name. */
  readonly modelsFolder: string;
  /** Path of the model of the engine `sherpa`, or its name in that folder; null: the one that was selected there. */
  readonly sherpaModel: string | null;
  /** Private memory that a process of this engine may take; null: derived from the size of the model. */
  readonly sherpaMemoryMb: number | null;
  /** Where `npm run models` downloads; with `hfToken` if the source wants one. */
  readonly modelsUrl: string;
  readonly hfToken: string | null;
  readonly speechDetector: SpeechDetectorChoice;
  /** For the decoded audio that a worker process holds. */
  readonly transcriptionMemoryMb: number;
  /** Whether a text without capitals and punctuation gets some. */
  readonly addPunctuation: boolean;
  readonly openaiBaseUrl: string | null;
  readonly openaiApiKey: string | null;
  readonly openaiModel: string;
  readonly maxAudioSeconds: number;
  /** Formats of new uploads. What was accepted before is transcribed all the same. */
  readonly acceptedFormats: readonly AudioFormat[];
  readonly leaseSeconds: number;
  readonly uploadTimeoutSeconds: number;
  readonly maxConnections: number;
  /** For an IPv4 address or an IPv6 /64; proxies that TRUST_PROXY names are exempt. */
  readonly maxConnectionsPerAddress: number;
  readonly maxPipelinedRequests: number;
  /** Bytes a second that a body and a response must move at, on average, after the grace. 0: no minimum. */
  readonly minTransferRate: number;
  readonly transferGraceSeconds: number;
  readonly writeTimeoutSeconds: number;
  readonly keepAliveSeconds: number;
  /** 0: never, which only a trial of what happens then should ask for. */
  readonly reconcileSeconds: number;
  readonly addressRateLimit: RateLimit;
  readonly webhookAllowedCidrs: readonly string[];
  /** Refuses `http:` URLs of webhooks outside `webhookAllowedCidrs`. */
  readonly webhookHttpsOnly: boolean;
  /** Gaps between delivery attempts in seconds: n gaps make n + 1 attempts. */
  readonly webhookRetrySchedule: readonly number[];
  /** Connections of a worker process to all receivers together. */
  readonly webhookConnections: number;
  readonly webhookConnectionsPerHost: number;
  readonly eventRetentionDays: number;
  readonly requestErrorRetentionDays: number;
  /** Kinds of errors that are kept of an account for each day. */
  readonly requestErrorGroups: number;
  /** Open at the same time in all processes. */
  /** Events that an account may have sent again to one destination. */
  readonly redeliveriesPerSecond: number;
  readonly eventStreamsPerAccount: number;
  /** Between two comments on an event stream, which keep idle connections open. */
  readonly eventStreamCommentSeconds: number;
  /** Longest wait of a request to the compatible endpoint. 0: it does not wait. */
  readonly compatTimeoutSeconds: number;
  /** Requests that may wait in this process, and of one account. */
  readonly compatWaiting: number;
  readonly compatWaitingPerAccount: number;
  readonly corsOrigins: readonly string[];
  /** Whether the api role serves the console at `/`. */
  readonly console: boolean;
  readonly metricsToken: string | null;
  /** URIs for reports of vulnerabilities, the preferred one first. */
  readonly securityContact: readonly string[];
  /** Express's `trust proxy`: false, a number of hops, or the addresses and CIDRs of proxies. */
  readonly trustProxy: false | number | readonly string[];
  readonly logLevel: string;

  constructor(fields: Env) {
    Object.assign(this, fields);
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Reads and checks the environment.
 * @throws InvalidEnvironmentError
 */
export function readEnv(source: NodeJS.ProcessEnv): Env {
  const read = new EnvReader(source);
  const storageDriver = read.text('STORAGE_DRIVER') ?? 'disk';
  const nodeEnv = read.oneOf('NODE_ENV', ['development', 'test', 'production'], 'production');
  const roles = read.roles();
  const needsKey = roles.some((role) => role !== 'transcriber');
  const env = new Env({
    nodeEnv,
    port: read.integer('PORT', 3000, 0, 65535),
    host: read.text('HOST') ?? '0.0.0.0',
    roles,
    ...readServers(read),
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
    ...readTranscriptionSettings(read),
    ...readAudioSettings(read),
    leaseSeconds: read.integer('LEASE_SECONDS', 60, 1, 3600),
    uploadTimeoutSeconds: read.integer('UPLOAD_TIMEOUT_SECONDS', 300, 1, 3600),
    ...readConnectionSettings(read),
    reconcileSeconds: read.integer('RECONCILE_SECONDS', 5, 0, 3600),
    addressRateLimit: read.rateLimit('ADDRESS_RATE_LIMIT', { rate: 60, burst: 120 }),
    ...readWebhookSettings(read),
    eventRetentionDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3650),
    requestErrorRetentionDays: read.integer('REQUEST_ERROR_RETENTION_DAYS', 7, 1, 30),
    requestErrorGroups: read.integer('REQUEST_ERROR_GROUPS', 200, 10, 10_000),
    redeliveriesPerSecond: read.integer('REDELIVERIES_PER_SECOND', 20, 1, 10_000),
    eventStreamsPerAccount: read.integer('EVENT_STREAMS_PER_ACCOUNT', 10, 1, 100_000),
    eventStreamCommentSeconds: read.integer('EVENT_STREAM_COMMENT_SECONDS', 15, 1, 3600),
    ...readCompatSettings(read),
    corsOrigins: read.list('CORS_ORIGINS', (item) => URL.canParse(item), 'origins such as https://app.example.com'),
    console: read.oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    metricsToken: read.secret('METRICS_TOKEN', 16),
    securityContact: read.list('SECURITY_CONTACT', isContact, 'URIs such as mailto:security@example.com'),
    trustProxy: read.trustProxy(),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  });
  read.throwIfBroken();
  return env;
}

function readAudioSettings(read: EnvReader) {
  return {
    maxAudioSeconds: read.integer('MAX_AUDIO_SECONDS', 7200, 1, 86_400),
    acceptedFormats: read.audioFormats(),
  };
}

function readConnectionSettings(read: EnvReader) {
  return {
    maxConnections: read.integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    maxConnectionsPerAddress: read.integer('MAX_CONNECTIONS_PER_ADDRESS', 1000, 1, 1_000_000),
    maxPipelinedRequests: read.integer('MAX_PIPELINED_REQUESTS', 32, 0, 1000),
    minTransferRate: read.integer('MIN_TRANSFER_RATE', 1000, 0, 1_000_000),
    transferGraceSeconds: read.integer('TRANSFER_GRACE_SECONDS', 30, 1, 3600),
    writeTimeoutSeconds: read.integer('WRITE_TIMEOUT_SECONDS', 20, 1, 3600),
    keepAliveSeconds: read.integer('KEEP_ALIVE_SECONDS', 65, 1, 3600),
  };
}

function readCompatSettings(read: EnvReader) {
  return {
    compatTimeoutSeconds: read.integer('COMPAT_TIMEOUT_SECONDS', 120, 0, 3600),
    compatWaiting: read.integer('COMPAT_WAITING', 2000, 1, 100_000),
    compatWaitingPerAccount: read.integer('COMPAT_WAITING_PER_ACCOUNT', 100, 1, 100_000),
  };
}

function readWebhookSettings(read: EnvReader) {
  return {
    webhookAllowedCidrs: read.list('WEBHOOK_ALLOWED_CIDRS', (item) => CIDR.test(item), 'CIDRs such as 10.0.0.0/8'),
    webhookHttpsOnly: read.oneOf('WEBHOOK_HTTPS_ONLY', ['true', 'false'], 'false') === 'true',
    webhookRetrySchedule: read.schedule('WEBHOOK_RETRY_SCHEDULE'),
    webhookConnections: read.integer('WEBHOOK_CONNECTIONS', 2000, 1, 50_000),
    webhookConnectionsPerHost: read.integer('WEBHOOK_CONNECTIONS_PER_HOST', 256, 1, 50_000),
  };
}

function readTranscriptionSettings(read: EnvReader) {
  return {
    transcriptionEngine: read.text('TRANSCRIPTION_ENGINE') ?? 'auto',
    clientEngines: read.list('CLIENT_ENGINES', (item) => /^[\w.-]+$/.test(item), 'names of engines such as openai'),
    transcriptionConcurrency: read.optionalInteger('TRANSCRIPTION_CONCURRENCY', 1, 256),
    sandbox: read.oneOf('SANDBOX', ['required', 'auto', 'off'], 'auto'),
    speechDetector: read.oneOf('SPEECH_DETECTOR', ['auto', 'energy'], 'auto'),
    ...readModelSettings(read),
    sherpaModel: read.text('SHERPA_MODEL'),
    sherpaMemoryMb: read.optionalInteger('SHERPA_MEMORY_MB', 16, 1_048_576),
    transcriptionMemoryMb: read.integer('TRANSCRIPTION_MEMORY_MB', 512, 64, 65_536),
    addPunctuation: read.oneOf('ADD_PUNCTUATION', ['true', 'false'], 'false') === 'true',
    openaiBaseUrl: read.url('OPENAI_BASE_URL', ['http:', 'https:']),
    openaiApiKey: read.text('OPENAI_API_KEY'),
    openaiModel: read.text('OPENAI_MODEL') ?? 'whisper-1',
  };
}

function readServers(read: EnvReader) {
  return {
    databaseUrl: read.postgresUrl('DATABASE_URL') ?? read.missing('DATABASE_URL'),
    databasePooler: read.oneOf('DATABASE_POOLER', ['true', 'false'], 'false') === 'true',
    poolSize: read.integer('POOL_SIZE', 20, 4, 1000),
    databasePreparedStatements: read.oneOf('DATABASE_PREPARED_STATEMENTS', ['true', 'false'], 'true') === 'true',
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']) ?? read.missing('REDIS_URL'),
    redisSentinels: read.list('REDIS_SENTINELS', isHostAndPort, 'addresses such as 10.0.0.5:26379'),
    redisSentinelName: read.text('REDIS_SENTINEL_NAME') ?? 'mymaster',
    redisSentinelPassword: read.text('REDIS_SENTINEL_PASSWORD'),
  };
}

const isHostAndPort = (text: string): boolean => /^(?:[\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(text);
/** What RFC 9116 takes for a contact: web pages by https only. */
const isContact = (text: string): boolean =>
  /^(?:mailto:[^\s@]+@[^\s@]+|tel:\+[\d-]+|https:\/\/\S+)$/.test(text) && URL.canParse(text);
const CIDR = /^[0-9a-f:.]+\/\d{1,3}$/i;
