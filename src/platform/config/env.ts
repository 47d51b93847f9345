import { isIP } from 'node:net';
import { isHostPattern } from '../http/outgoing/host-matcher.js';
import { EnvReader, SECRET_KEY_LENGTH } from './env-reader.js';

export { InvalidEnvironmentError, type RateLimit, type Role } from './env-reader.js';

/**
 * What `readEnv` found in `process.env`, which nothing else reads. Everything is read and checked once, at boot, and every
 * broken variable is named in one error, so that a misconfigured process never starts half-way.
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- `readEnv` sets every field: those of `readVariables`
export class Env {}
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Env extends Readonly<ReturnType<typeof readVariables>> {}

/** How strictly processes that read strangers' audio are isolated: SANDBOX in docs/operations.md. */
export type SandboxMode = Env['sandbox'];

/**
 * Reads and checks the environment.
 * @throws InvalidEnvironmentError
 */
export function readEnv(source: NodeJS.ProcessEnv): Env {
  const read = new EnvReader(source);
  const env = Object.assign(new Env(), readVariables(read));
  read.throwIfBroken();
  return env;
}

/** With what people sign in, beside the providers of OIDC_PROVIDERS. */
export const SIGN_IN_WAYS = ['password', 'link', 'passkey'] as const;
export type SignInWay = (typeof SIGN_IN_WAYS)[number];

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** A row for each variable: its field, its name, its rule and its default. docs/operations.md explains them. */
function readVariables(read: EnvReader) {
  const storageDriver = read.text('STORAGE_DRIVER') ?? 'disk';
  const nodeEnv = read.oneOf('NODE_ENV', ['development', 'test', 'production'], 'production');
  const roles = read.roles();
  const needsKey = roles.some((role) => role !== 'transcriber');
  return {
    nodeEnv,
    port: read.integer('PORT', 3000, 0, 65_535),
    host: read.text('HOST') ?? '0.0.0.0',
    roles,
    ...readServers(read),
    /** Null in a process that only transcribes, which needs none and does not read it (D38). */
    secretKey: needsKey ? read.secretKey('SECRET_KEY', nodeEnv) : null,
    /** A second SECRET_KEY, whose hashes, texts and tokens are still read but no longer made. */
    secretKeyPrevious: needsKey ? read.otherSecret('SECRET_KEY_PREVIOUS', SECRET_KEY_LENGTH, 'SECRET_KEY') : null,
    ...readEncryption(read, needsKey),
    /** Name of a registered object store. */
    storageDriver,
    /** Folder of the disk driver; with S3 it holds only the spool of uploads in progress. */
    storageDir: read.text('STORAGE_DIR') ?? './storage',
    /** Uploads are refused while less of the disk is free. */
    storageMinFreeBytes: read.integer('STORAGE_MIN_FREE_BYTES', 2 ** 30, 0, Number.MAX_SAFE_INTEGER),
    s3Endpoint: read.url('S3_ENDPOINT', ['http:', 'https:']),
    s3Region: read.text('S3_REGION') ?? 'us-east-1',
    s3Bucket: read.text('S3_BUCKET') ?? (storageDriver === 's3' ? read.missing('S3_BUCKET') : 'voice-notes'),
    s3AccessKeyId: read.text('S3_ACCESS_KEY_ID'),
    s3SecretAccessKey: read.text('S3_SECRET_ACCESS_KEY'),
    ...readBackups(read),
    ...readTranscription(read),
    leaseSeconds: read.integer('LEASE_SECONDS', 60, 1, 3600),
    ...readConnections(read),
    /** 0: never, which only a trial of what happens then should ask for. */
    reconcileSeconds: read.integer('RECONCILE_SECONDS', 5, 0, 3600),
    addressRateLimit: read.rateLimit('ADDRESS_RATE_LIMIT', { rate: 60, burst: 120 }),
    ...readWebhooks(read),
    ...readEgress(read),
    requestErrorRetentionDays: read.integer('REQUEST_ERROR_RETENTION_DAYS', 7, 1, 30),
    /** Kinds of errors that are kept of an account for each day. */
    requestErrorGroups: read.integer('REQUEST_ERROR_GROUPS', 200, 10, 10_000),
    /** Longest wait of a request to the compatible endpoint. 0: it does not wait. */
    compatTimeoutSeconds: read.integer('COMPAT_TIMEOUT_SECONDS', 120, 0, 3600),
    /** Requests that may wait in this process, and of one account. */
    compatWaiting: read.integer('COMPAT_WAITING', 2000, 1, 100_000),
    compatWaitingPerAccount: read.integer('COMPAT_WAITING_PER_ACCOUNT', 100, 1, 100_000),
    /** A live recording's connection without audio for as long is closed. */
    liveSilenceSeconds: read.integer('LIVE_SILENCE_SECONDS', 30, 1, 3600),
    corsOrigins: read.list('CORS_ORIGINS', (item) => URL.canParse(item), 'origins such as https://app.example.com'),
    /** Whether the api role serves the console at `/`. */
    console: read.oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    /** Those that the operator lets people use. */
    signInWays: read.someOf('SIGN_IN_WAYS', SIGN_IN_WAYS),
    ...readMail(read),
    /** JSON, read by the module of people. */
    oidcProviders: read.text('OIDC_PROVIDERS'),
    metricsToken: read.secret('METRICS_TOKEN', 16),
    /** URIs for reports of vulnerabilities, the preferred one first. */
    securityContact: read.list('SECURITY_CONTACT', isContact, 'URIs such as mailto:security@example.com'),
    /** Express's `trust proxy`: false, a number of hops, or the addresses and CIDRs of proxies. */
    trustProxy: read.trustProxy(),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info') as string,
    ...readTraces(read),
  };
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;
const PROPAGATORS = ['tracecontext', 'baggage'];

/**
 * The variables of OpenTelemetry. Its exporter reads the endpoints, and from the time-out on what belongs to the connection,
 * itself; here a wrong value is found at the start.
 */
function readTraces(read: EnvReader) {
  const protocols: [string, ...string[]] = ['http:', 'https:'];
  const samplers = SAMPLERS.flatMap((name) => [name, `parentbased_${name}`] as const);
  const isPropagator = (item: string): boolean => item === 'none' || PROPAGATORS.includes(item);
  const propagators = read.list('OTEL_PROPAGATORS', isPropagator, 'none, or tracecontext and baggage');
  const isRatio = (text: string): boolean => /^(0(\.\d+)?|1(\.0+)?)$/.test(text);
  const ratio = read.text('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  return {
    otelSdkDisabled: read.oneOf('OTEL_SDK_DISABLED', ['true', 'false'], 'false') === 'true',
    /** Null: `otlp` if there is an endpoint. */
    otelTracesExporter:
      read.text('OTEL_TRACES_EXPORTER') && read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'none'),
    otelExporterOtlpEndpoint: read.url('OTEL_EXPORTER_OTLP_ENDPOINT', protocols),
    otelExporterOtlpTracesEndpoint: read.url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', protocols),
    otelExporterOtlpProtocol: read.oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', ['http/protobuf'], 'http/protobuf'),
    otelExporterOtlpHeaders: read.text('OTEL_EXPORTER_OTLP_HEADERS'),
    otelExporterOtlpTimeout: read.integer('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000, 1, 600_000),
    otelExporterOtlpCompression: read.oneOf('OTEL_EXPORTER_OTLP_COMPRESSION', ['none', 'gzip'], 'none'),
    otelExporterOtlpCertificate: read.text('OTEL_EXPORTER_OTLP_CERTIFICATE'),
    otelExporterOtlpClientCertificate: read.text('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE'),
    otelExporterOtlpClientKey: read.text('OTEL_EXPORTER_OTLP_CLIENT_KEY'),
    otelServiceName: read.text('OTEL_SERVICE_NAME') ?? 'voice-notes',
    /** As in a header: `name=value`, separated by commas. */
    otelResourceAttributes: read.text('OTEL_RESOURCE_ATTRIBUTES'),
    otelTracesSampler: read.oneOf('OTEL_TRACES_SAMPLER', samplers, 'parentbased_always_on'),
    otelTracesSamplerArg: isRatio(ratio)
      ? Number(ratio)
      : read.refuse('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1, such as 0.1', 1),
    otelPropagators: propagators.length > 0 ? propagators : PROPAGATORS,
    otelBspScheduleDelay: read.integer('OTEL_BSP_SCHEDULE_DELAY', 5000, 1, 600_000),
    otelBspExportTimeout: read.integer('OTEL_BSP_EXPORT_TIMEOUT', 30_000, 1, 600_000),
    otelBspMaxQueueSize: read.integer('OTEL_BSP_MAX_QUEUE_SIZE', 2048, 1, 100_000),
    otelBspMaxExportBatchSize: read.integer('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, 1, 10_000),
  };
}

/** Of audio in storage. A process reads what is encrypted whether it encrypts or not. */
function readEncryption(read: EnvReader, hasSecretKey: boolean) {
  const storageEncryption = read.oneOf('STORAGE_ENCRYPTION', ['off', 'key', 'kms'], 'off');
  const storageKey = read.otherSecret('STORAGE_KEY', SECRET_KEY_LENGTH, 'SECRET_KEY');
  if (storageEncryption === 'key' && storageKey === null && !hasSecretKey) {
    read.refuse('STORAGE_KEY', 'is required in a process that only transcribes, as it has no SECRET_KEY', '');
  }
  return {
    /** Whether new audio is encrypted, and what encrypts the keys of accounts. */
    storageEncryption,
    /** Encrypts the keys of accounts in place of SECRET_KEY; processes that only transcribe need it. */
    storageKey,
    storageKeyPrevious: read.otherSecret('STORAGE_KEY_PREVIOUS', SECRET_KEY_LENGTH, 'STORAGE_KEY'),
    ...readKms(read, storageEncryption === 'kms'),
  };
}

/** The service for keys that wraps those of accounts. It unwraps them as long as it is set. */
function readKms(read: EnvReader, isNeeded: boolean) {
  const url = read.keyUrl('STORAGE_KMS_URL');
  const { cert, key } = read.clientCertificate('STORAGE_KMS_CLIENT_CERT', 'STORAGE_KMS_CLIENT_KEY');
  if (isNeeded && read.text('STORAGE_KMS_URL') === null) read.missing('STORAGE_KMS_URL');
  for (const name of ['STORAGE_KMS_TOKEN', 'STORAGE_KMS_CLIENT_CERT']) {
    if (url === null && !isNeeded && read.text(name) !== null) read.refuse(name, 'needs STORAGE_KMS_URL', null);
  }
  // Any client may have webhooks sent to the KMS, too.
  if (cert !== null && cert === read.text('WEBHOOK_CLIENT_CERT'))
    read.refuse('WEBHOOK_CLIENT_CERT', 'must differ from STORAGE_KMS_CLIENT_CERT', null);
  return {
    /** Of a key of the engine Transit. */
    storageKmsUrl: url,
    /** Null where an agent beside the process adds it. */
    storageKmsToken: read.renewedSecret('STORAGE_KMS_TOKEN'),
    storageKmsClientCert: cert,
    storageKmsClientKey: key,
  };
}

/** With a server for mail it is said who sends, and where the links of mails lead: a request could say anything. */
function readMail(read: EnvReader) {
  const smtpUrl = read.smtpUrl('SMTP_URL');
  const [smtpFrom, publicUrl] = [read.text('SMTP_FROM'), read.url('PUBLIC_URL', ['https:', 'http:'])];
  const isAddress = smtpFrom === null || SENDER.test(smtpFrom);
  return {
    smtpUrl,
    /** An address, or `Name <address>`. */
    smtpFrom: isAddress
      ? (smtpFrom ?? (smtpUrl && read.missing('SMTP_FROM')))
      : read.refuse('SMTP_FROM', 'must be an e-mail address, or a name and <an e-mail address>', smtpFrom),
    /** Of this service, as people reach it. */
    publicUrl: publicUrl ?? (smtpUrl && read.missing('PUBLIC_URL')),
  };
}

/** The S3 settings are those of the object store, unless one is set for backups: then none of the others is used. */
function readBackups(read: EnvReader) {
  return {
    /** A folder, or `s3://bucket/prefix`. */
    backupDestination: read.text('BACKUP_DESTINATION'),
    backupS3Endpoint: read.url('BACKUP_S3_ENDPOINT', ['http:', 'https:']),
    backupS3Region: read.text('BACKUP_S3_REGION'),
    backupS3AccessKeyId: read.text('BACKUP_S3_ACCESS_KEY_ID'),
    backupS3SecretAccessKey: read.text('BACKUP_S3_SECRET_ACCESS_KEY'),
  };
}

function readServers(read: EnvReader) {
  return {
    databaseUrl: read.postgresUrl('DATABASE_URL') ?? read.missing('DATABASE_URL'),
    /** Behind a pooler, which refuses settings and may change the session with every transaction. */
    databasePooler: read.oneOf('DATABASE_POOLER', ['true', 'false'], 'false') === 'true',
    /** Connections of a process to Postgres. */
    poolSize: read.integer('POOL_SIZE', 20, 4, 1000),
    databasePreparedStatements: read.oneOf('DATABASE_PREPARED_STATEMENTS', ['true', 'false'], 'true') === 'true',
    /** With sentinels its host and port are not used. */
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']) ?? read.missing('REDIS_URL'),
    /** As host:port; empty without Sentinel. */
    redisSentinels: read.list('REDIS_SENTINELS', isHostAndPort, 'addresses such as 10.0.0.5:26379'),
    redisSentinelName: read.text('REDIS_SENTINEL_NAME') ?? 'mymaster',
    redisSentinelPassword: read.text('REDIS_SENTINEL_PASSWORD'),
  };
}

function readConnections(read: EnvReader) {
  return {
    uploadTimeoutSeconds: read.integer('UPLOAD_TIMEOUT_SECONDS', 300, 1, 3600),
    maxConnections: read.integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
    /** For an IPv4 address or an IPv6 /64; proxies that TRUST_PROXY names are exempt. */
    maxConnectionsPerAddress: read.integer('MAX_CONNECTIONS_PER_ADDRESS', 1000, 1, 1_000_000),
    maxPipelinedRequests: read.integer('MAX_PIPELINED_REQUESTS', 32, 0, 1000),
    /** Bytes a second that a body and a response must move at, on average, after the grace. 0: no minimum. */
    minTransferRate: read.integer('MIN_TRANSFER_RATE', 1000, 0, 1_000_000),
    transferGraceSeconds: read.integer('TRANSFER_GRACE_SECONDS', 30, 1, 3600),
    writeTimeoutSeconds: read.integer('WRITE_TIMEOUT_SECONDS', 20, 1, 3600),
    keepAliveSeconds: read.integer('KEEP_ALIVE_SECONDS', 65, 1, 3600),
    /** Between SIGTERM, which makes an API process not ready, and the close of its listener. */
    shutdownDelaySeconds: read.integer('SHUTDOWN_DELAY_SECONDS', 0, 0, 300),
  };
}

function readWebhooks(read: EnvReader) {
  return {
    webhookAllowedCidrs: read.list('WEBHOOK_ALLOWED_CIDRS', (item) => CIDR.test(item), 'CIDRs such as 10.0.0.0/8'),
    /** Refuses `http:` URLs of webhooks outside `webhookAllowedCidrs`. */
    webhookHttpsOnly: read.oneOf('WEBHOOK_HTTPS_ONLY', ['true', 'false'], 'false') === 'true',
    /** Gaps between delivery attempts in seconds: n gaps make n + 1 attempts. */
    webhookRetrySchedule: read.schedule('WEBHOOK_RETRY_SCHEDULE'),
    /** Connections of a worker process to all receivers together. */
    webhookConnections: read.integer('WEBHOOK_CONNECTIONS', 2000, 1, 50_000),
    webhookConnectionsPerHost: read.integer('WEBHOOK_CONNECTIONS_PER_HOST', 256, 1, 50_000),
    eventRetentionDays: read.integer('EVENT_RETENTION_DAYS', 30, 1, 3650),
    /** Events that an account may have sent again to one destination. */
    redeliveriesPerSecond: read.integer('REDELIVERIES_PER_SECOND', 20, 1, 10_000),
    /** Open at the same time in all processes. */
    eventStreamsPerAccount: read.integer('EVENT_STREAMS_PER_ACCOUNT', 10, 1, 100_000),
    /** Between two comments on an event stream, which keep idle connections open. */
    eventStreamCommentSeconds: read.integer('EVENT_STREAM_COMMENT_SECONDS', 15, 1, 3600),
  };
}

/** How requests leave: those of webhooks, links, token issuers, transcription servers and OpenID providers. */
function readEgress(read: EnvReader) {
  const proxyUrl = read.proxyUrl('EGRESS_PROXY_URL');
  const sources = read.list('EGRESS_SOURCE_ADDRESSES', (item) => isIP(item) !== 0, 'addresses such as 192.0.2.7');
  const noProxy = read.list('EGRESS_NO_PROXY', isHostPattern, 'hosts, domains such as .internal, or CIDRs');
  const resolves = read.oneOf('EGRESS_PROXY_RESOLVES', ['true', 'false'], 'false') === 'true';
  if (proxyUrl === null && noProxy.length > 0) read.refuse('EGRESS_NO_PROXY', 'needs EGRESS_PROXY_URL', null);
  if (proxyUrl === null && resolves) read.refuse('EGRESS_PROXY_RESOLVES', 'needs EGRESS_PROXY_URL', null);
  const families = sources.map((ip) => isIP(ip));
  if (new Set(families).size < families.length)
    read.refuse('EGRESS_SOURCE_ADDRESSES', 'must be at most one IPv4 and one IPv6 address', null);
  const ofProxy =
    proxyUrl !== null && URL.canParse(proxyUrl) ? isIP(new URL(proxyUrl).hostname.replace(/[[\]]/g, '')) : 0;
  if (ofProxy !== 0 && sources.length > 0 && !families.includes(ofProxy))
    read.refuse('EGRESS_SOURCE_ADDRESSES', `must have an IPv${ofProxy} address for that of EGRESS_PROXY_URL`, null);
  return {
    egressProxyUrl: proxyUrl,
    egressNoProxy: noProxy,
    /** Whether the proxy resolves the hosts of clients' URLs and checks their addresses. */
    egressProxyResolves: resolves,
    /** At most one for each family. */
    egressSourceAddresses: sources,
    ...readClientCertificates(read),
  };
}

function readClientCertificates(read: EnvReader) {
  const webhook = read.clientCertificate('WEBHOOK_CLIENT_CERT', 'WEBHOOK_CLIENT_KEY');
  const openai = read.clientCertificate('OPENAI_CLIENT_CERT', 'OPENAI_CLIENT_KEY');
  // Any client may have webhooks sent to the transcription server, too.
  if (webhook.cert !== null && webhook.cert === openai.cert)
    read.refuse('WEBHOOK_CLIENT_CERT', 'must differ from OPENAI_CLIENT_CERT', null);
  if (openai.cert !== null && read.text('OPENAI_BASE_URL')?.startsWith('http:'))
    read.refuse('OPENAI_CLIENT_CERT', 'needs an OPENAI_BASE_URL that starts with https://', null);
  return {
    /** Shown to receivers of webhooks that ask for one; null: none. */
    webhookClientCert: webhook.cert,
    webhookClientKey: webhook.key,
    /** Shown to the transcription server. */
    openaiClientCert: openai.cert,
    openaiClientKey: openai.key,
  };
}

function readTranscription(read: EnvReader) {
  return {
    /** Name of a registered engine, or `auto`. */
    transcriptionEngine: read.text('TRANSCRIPTION_ENGINE') ?? 'auto',
    /** Engines that clients of accounts without engines of their own may name. */
    clientEngines: read.list('CLIENT_ENGINES', (item) => /^[\w.-]+$/.test(item), 'names of engines such as openai'),
    /** Recordings a worker process transcribes at once; null: four for each core. */
    transcriptionConcurrency: read.optionalInteger('TRANSCRIPTION_CONCURRENCY', 1, 256),
    sandbox: read.oneOf('SANDBOX', ['required', 'auto', 'off'], 'auto'),
    /** How speech is told from other sound. */
    speechDetector: read.oneOf('SPEECH_DETECTOR', ['auto', 'energy'], 'auto'),
    /** Recognises while one speaks: `auto`, `off`, `pocketsphinx` or another engine. */
    liveEngine: read.text('LIVE_ENGINE') ?? 'auto',
    /** Path of the streaming model of the engine `sherpa`, or its name in the folder of models; null: the one selected there. */
    liveModel: read.text('LIVE_MODEL'),
    /** Live recordings whose words a transcriber recognises at once; null: three for each core. */
    liveSessions: read.optionalInteger('LIVE_SESSIONS', 0, 1000),
    ...readModels(read),
    /** Path of the model of the engine `sherpa`, or its name in that folder; null: the one that was selected there. */
    sherpaModel: read.text('SHERPA_MODEL'),
    /** Private memory that a process of this engine may take; null: derived from the size of the model. */
    sherpaMemoryMb: read.optionalInteger('SHERPA_MEMORY_MB', 16, 1_048_576),
    /** Paths of the models for speakers, or their names in that folder; null: those that were selected there. */
    speakerSegmentationModel: read.text('SPEAKER_SEGMENTATION_MODEL'),
    speakerEmbeddingModel: read.text('SPEAKER_EMBEDDING_MODEL'),
    /** Recordings of which a process tells the speakers at the same time; null: two, or one on a single core. */
    speakerProcesses: read.optionalInteger('SPEAKER_PROCESSES', 1, 256),
    /** Memory for the audio of one of them, on which its longest length depends; null: a fifth of the machine's. */
    speakerMemoryMb: read.optionalInteger('SPEAKER_MEMORY_MB', 16, 1_048_576),
    /** Hundredths of the cosine distance up to which two voices are one person. */
    speakerThreshold: read.integer('SPEAKER_THRESHOLD', 90, 1, 200),
    /** For the decoded audio that a worker process holds. */
    transcriptionMemoryMb: read.integer('TRANSCRIPTION_MEMORY_MB', 512, 64, 65_536),
    /** Whether a text without capitals and punctuation gets some. */
    addPunctuation: read.oneOf('ADD_PUNCTUATION', ['true', 'false'], 'false') === 'true',
    openaiBaseUrl: read.url('OPENAI_BASE_URL', ['http:', 'https:']),
    openaiApiKey: read.text('OPENAI_API_KEY'),
    openaiModel: read.text('OPENAI_MODEL') ?? 'whisper-1',
    maxAudioSeconds: read.integer('MAX_AUDIO_SECONDS', 7200, 1, 86_400),
    /** Formats of new uploads. What was accepted before is transcribed all the same. */
    acceptedFormats: read.audioFormats(),
  };
}

/** Also read by `npm run models`, which needs no database and no SECRET_KEY. */
function readModels(read: EnvReader) {
  return {
    /** Folder of models of speech recognition, each in a folder of its own name. */
    modelsFolder: read.text('MODELS_FOLDER') ?? './.data/models',
    /** Where `npm run models` downloads; with `hfToken` if the source wants one. */
    modelsUrl: read.url('MODELS_URL', ['https:', 'http:']) ?? 'https://huggingface.co',
    hfToken: read.text('HF_TOKEN'),
  };
}

export type ModelSettings = ReturnType<typeof readModels>;

/**
 * These settings alone.
 * @throws InvalidEnvironmentError
 */
export function modelSettings(source: NodeJS.ProcessEnv): ModelSettings {
  const read = new EnvReader(source);
  const settings = readModels(read);
  read.throwIfBroken();
  return settings;
}

/** Which proxy is set, for an operator: without its credentials. */
export function proxyText(source: NodeJS.ProcessEnv): string {
  const set = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => {
    const value = source[name.toLowerCase()] ?? source[name];
    return value ? `${name}=${name === 'NO_PROXY' ? value : withoutCredentials(value)}` : [];
  });
  return set.length > 0 ? `Set now: ${set.join(', ')}.` : 'None is set now.';
}

function withoutCredentials(address: string): string {
  // The origin of `proxy:3128`, in which `proxy` is the scheme, is the text `null`.
  const origin = URL.canParse(address) ? new URL(address).origin : 'null';
  return origin === 'null' ? '(not a URL)' : origin;
}

const SENDER = /^(?:[^<>\p{Cc}]*<[^\s@<>,]+@[^\s@<>,]+>|[^\s@<>,]+@[^\s@<>,]+)$/u;
const isHostAndPort = (text: string): boolean => /^(?:[\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(text);
/** What RFC 9116 takes for a contact: web pages by https only. */
const isContact = (text: string): boolean =>
  /^(?:mailto:[^\s@]+@[^\s@]+|tel:\+[\d-]+|https:\/\/\S+)$/.test(text) && URL.canParse(text);
const CIDR = /^[0-9a-f:.]+\/\d{1,3}$/i;
