import { readEnv } from './env.js';

const REQUIRED = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'k'.repeat(32),
};
const read = (variables: NodeJS.ProcessEnv) => readEnv({ ...REQUIRED, ...variables });
const propertyOf = (name: string) => name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const valueOf = (name: string, text: string): unknown => Reflect.get(read({ [name]: text }), propertyOf(name));
const refusal = (name: string, rule: string) => `Invalid environment variables:\n  ${name} ${rule}`;

describe('numbers of the environment', () => {
  const BOUNDS: [name: string, min: number, max: number][] = [
    ['PORT', 0, 65_535],
    ['STORAGE_MIN_FREE_BYTES', 0, Number.MAX_SAFE_INTEGER],
    ['TRANSCRIPTION_CONCURRENCY', 1, 256],
    ['LIVE_SESSIONS', 0, 1000],
    ['TRANSCRIPTION_MEMORY_MB', 64, 65_536],
    ['SHERPA_MEMORY_MB', 16, 1_048_576],
    ['SPEAKER_PROCESSES', 1, 256],
    ['SPEAKER_MEMORY_MB', 16, 1_048_576],
    ['SPEAKER_THRESHOLD', 1, 200],
    ['MAX_AUDIO_SECONDS', 1, 86_400],
    ['LEASE_SECONDS', 1, 3600],
    ['UPLOAD_TIMEOUT_SECONDS', 1, 3600],
    ['MAX_CONNECTIONS', 1, 1_000_000],
    ['MAX_CONNECTIONS_PER_ADDRESS', 1, 1_000_000],
    ['MAX_PIPELINED_REQUESTS', 0, 1000],
    ['MIN_TRANSFER_RATE', 0, 1_000_000],
    ['TRANSFER_GRACE_SECONDS', 1, 3600],
    ['WRITE_TIMEOUT_SECONDS', 1, 3600],
    ['KEEP_ALIVE_SECONDS', 1, 3600],
    ['SHUTDOWN_DELAY_SECONDS', 0, 300],
    ['POOL_SIZE', 4, 1000],
    ['RECONCILE_SECONDS', 0, 3600],
    ['WEBHOOK_CONNECTIONS', 1, 50_000],
    ['WEBHOOK_CONNECTIONS_PER_HOST', 1, 50_000],
    ['EVENT_RETENTION_DAYS', 1, 3650],
    ['REQUEST_ERROR_RETENTION_DAYS', 1, 30],
    ['REQUEST_ERROR_GROUPS', 10, 10_000],
    ['REDELIVERIES_PER_SECOND', 1, 10_000],
    ['EVENT_STREAMS_PER_ACCOUNT', 1, 100_000],
    ['EVENT_STREAM_COMMENT_SECONDS', 1, 3600],
    ['LIVE_SILENCE_SECONDS', 1, 3600],
    ['COMPAT_TIMEOUT_SECONDS', 0, 3600],
    ['COMPAT_WAITING', 1, 100_000],
    ['COMPAT_WAITING_PER_ACCOUNT', 1, 100_000],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 1, 600_000],
    ['OTEL_BSP_SCHEDULE_DELAY', 1, 600_000],
    ['OTEL_BSP_EXPORT_TIMEOUT', 1, 600_000],
    ['OTEL_BSP_MAX_QUEUE_SIZE', 1, 100_000],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1, 10_000],
  ];

  it.each(BOUNDS)('%s is an integer from %i to %i', (name, min, max) => {
    expect([valueOf(name, `${min}`), valueOf(name, ` ${max} `)]).toEqual([min, max]);
    for (const text of [`${min - 1}`, `${BigInt(max) + 1n}`, `${min}.5`, '1e3', '0x10', 'many']) {
      expect(() => read({ [name]: text })).toThrow(refusal(name, `must be an integer from ${min} to ${max}`));
    }
  });

  it('are all in this table', () => {
    const isNumber = ([, value]: [string, unknown]) => typeof value === 'number';
    const optional = [
      'TRANSCRIPTION_CONCURRENCY',
      'LIVE_SESSIONS',
      'SHERPA_MEMORY_MB',
      'SPEAKER_PROCESSES',
      'SPEAKER_MEMORY_MB',
    ];
    const numbers = Object.entries(read(Object.fromEntries(optional.map((name) => [name, '16'])))).filter(isNumber);
    const known = [...BOUNDS.map(([name]) => propertyOf(name)), 'otelTracesSamplerArg'];
    expect(known.toSorted()).toEqual(numbers.map(([name]) => name).toSorted());
  });

  it('OTEL_TRACES_SAMPLER_ARG is a share', () => {
    const name = 'OTEL_TRACES_SAMPLER_ARG';
    expect(['0', '1', '1.0', ' 0.25 '].map((text) => valueOf(name, text))).toEqual([0, 1, 1, 0.25]);
    for (const text of ['1.1', '-0', '.5', '5e-1', 'NaN', 'half']) {
      expect(() => read({ [name]: text })).toThrow(refusal(name, 'must be a number from 0 to 1, such as 0.1'));
    }
  });
});

describe('choices of the environment', () => {
  it.each([
    ['NODE_ENV', ['development', 'test']],
    ['SANDBOX', ['required', 'auto', 'off']],
    ['SPEECH_DETECTOR', ['auto', 'energy']],
    ['LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']],
  ])('%s is one of %j', (name, allowed) => {
    for (const value of allowed) expect(valueOf(name, value)).toBe(value);
    const rule = `must be one of ${[...allowed, ...(name === 'NODE_ENV' ? ['production'] : [])].join(', ')}`;
    for (const text of ['other', (allowed[0] as string).toUpperCase()]) {
      expect(() => read({ [name]: text })).toThrow(refusal(name, rule));
    }
  });

  it.each([
    ['DATABASE_POOLER', 'true', 'false'],
    ['DATABASE_PREPARED_STATEMENTS', 'true', 'false'],
    ['WEBHOOK_HTTPS_ONLY', 'true', 'false'],
    ['ADD_PUNCTUATION', 'true', 'false'],
    ['CONSOLE', 'on', 'off'],
  ])('%s is %s or %s', (name, yes, no) => {
    expect([valueOf(name, yes), valueOf(name, no)]).toEqual([true, false]);
    expect(() => read({ [name]: '1' })).toThrow(refusal(name, `must be one of ${yes}, ${no}`));
  });
});

describe('addresses of the environment', () => {
  it.each([
    ['DATABASE_URL', ['postgres://h/db', 'postgresql://h/db'], ['mysql://h/db', 'h/db'], 'postgres://'],
    ['REDIS_URL', ['redis://h', 'rediss://h'], ['http://h', 'h:6379'], 'redis://'],
    ['S3_ENDPOINT', ['http://h', 'https://h:9000'], ['s3://h', 'h:9000'], 'http://'],
    ['OPENAI_BASE_URL', ['http://h/v1', 'https://h/v1'], ['ftp://h', 'h'], 'http://'],
    ['MODELS_URL', ['https://h', 'http://h'], ['ftp://h', 'h'], 'https://'],
  ])('%s takes %j and refuses %j', (name, taken, refused, start) => {
    for (const url of taken) expect(valueOf(name, url)).toBe(url);
    for (const url of refused) {
      expect(() => read({ [name]: url })).toThrow(refusal(name, `must be a URL that starts with ${start}`));
    }
  });

  it.each(['', '0', '-1', '1.5', '1000', '10s'])('DATABASE_URL refuses connect_timeout=%s', (seconds) => {
    const url = `postgres://h/db?connect_timeout=${seconds}`;
    const reason = 'must have a connect_timeout of 1 to 999 seconds';
    expect(() => read({ DATABASE_URL: url })).toThrow(refusal('DATABASE_URL', reason));
  });

  it.each([
    ['DATABASE_URL', {}],
    ['REDIS_URL', {}],
    ['S3_BUCKET', { STORAGE_DRIVER: 's3' }],
  ])('%s is required with %j', (name, variables) => {
    expect(() => read({ ...variables, [name]: ' ' })).toThrow(refusal(name, 'is required'));
  });
});

describe('lists of the environment', () => {
  it.each([
    [
      'REDIS_SENTINELS',
      '10.0.0.5:26379, redis-1.local:1,[::1]:26379,',
      ['10.0.0.5:26379', 'redis-1.local:1', '[::1]:26379'],
      ['10.0.0.5', 'a:b', '::1:26379', 'a:123456'],
      'addresses such as 10.0.0.5:26379',
    ],
    [
      'WEBHOOK_ALLOWED_CIDRS',
      '10.0.0.0/8 , ::1/128',
      ['10.0.0.0/8', '::1/128'],
      ['10.0.0.1', 'localhost/8', '10.0.0.0/1234'],
      'CIDRs such as 10.0.0.0/8',
    ],
    [
      'EGRESS_SOURCE_ADDRESSES',
      '192.0.2.7, 2001:db8::7',
      ['192.0.2.7', '2001:db8::7'],
      ['192.0.2.0/24', 'host'],
      'addresses such as 192.0.2.7',
    ],
    [
      'CLIENT_ENGINES',
      'openai, pocketsphinx',
      ['openai', 'pocketsphinx'],
      ['open ai', '{}'],
      'names of engines such as openai',
    ],
    [
      'CORS_ORIGINS',
      'https://a.example,http://b:1',
      ['https://a.example', 'http://b:1'],
      ['a.example', '*'],
      'origins such as https://app.example.com',
    ],
    [
      'SECURITY_CONTACT',
      'mailto:security@example.com, https://example.com/report',
      ['mailto:security@example.com', 'https://example.com/report'],
      ['security@example.com', 'http://example.com/report', 'mailto:security', 'https://'],
      'URIs such as mailto:security@example.com',
    ],
    [
      'WEBHOOK_RETRY_SCHEDULE',
      '5, 0,9999999',
      [5, 0, 9_999_999],
      ['-1', '1.5', '12345678', 'x'],
      'seconds between attempts',
    ],
  ])('%s: %s', (name, text, items, refused, what) => {
    expect(valueOf(name, text)).toEqual(items);
    for (const item of refused) {
      expect(() => read({ [name]: `${text},${item}` })).toThrow(refusal(name, `must be ${what}, separated by commas`));
    }
  });

  it.each([
    [undefined, false],
    ['false', false],
    ['0', 0],
    ['99', 99],
    ['10.0.0.1, fd00::/8', ['10.0.0.1', 'fd00::/8']],
  ])('TRUST_PROXY=%s is %j', (TRUST_PROXY, value) => expect(read({ TRUST_PROXY }).trustProxy).toEqual(value));

  it.each(['true', '-1', 'proxy.example.com', '10.0.0.0/1234'])('TRUST_PROXY=%s is refused', (TRUST_PROXY) => {
    expect(() => read({ TRUST_PROXY })).toThrow(
      refusal('TRUST_PROXY', 'must be false, a number of hops, or CIDRs, separated by commas'),
    );
  });
});

describe('ADDRESS_RATE_LIMIT', () => {
  it.each([
    ['1/1', { rate: 1, burst: 1 }],
    ['30/60', { rate: 30, burst: 60 }],
    ['9999999/9999999', { rate: 9_999_999, burst: 9_999_999 }],
  ])('%s is %j', (text, limit) => expect(valueOf('ADDRESS_RATE_LIMIT', text)).toEqual(limit));

  it.each(['60', '0/0', '0/60', '61/60', '60/120/1', '12345678/12345678', 'a/b'])('refuses %s', (text) => {
    expect(() => read({ ADDRESS_RATE_LIMIT: text })).toThrow(
      refusal('ADDRESS_RATE_LIMIT', 'must be rate/burst in requests a minute, such as 60/120, burst not below rate'),
    );
  });
});

describe('ACCEPTED_FORMATS', () => {
  const NAMES = 'webm, mp3, ogg, wav';

  it('takes formats in any order, and keeps that of the service', () => {
    expect(read({ ACCEPTED_FORMATS: 'wav,flac,ogg,mp3,webm' }).acceptedFormats.toSorted()).toEqual([
      'flac',
      'mp3',
      'ogg',
      'wav',
      'webm',
    ]);
    expect(read({ ACCEPTED_FORMATS: 'wav,ogg,mp3,webm' }).acceptedFormats).toEqual(
      read({ ACCEPTED_FORMATS: 'webm,mp3,ogg,wav' }).acceptedFormats,
    );
  });

  it.each(['mp3,ogg,wav', 'webm,ogg,wav', 'webm,mp3,wav', 'webm,mp3,ogg', 'flac'])('refuses %s', (text) => {
    expect(() => read({ ACCEPTED_FORMATS: text })).toThrow(
      refusal('ACCEPTED_FORMATS', `must contain ${NAMES}, on which clients rely`),
    );
  });

  it.each(['webm,mp3,ogg,wav,exe', 'constructor'])('refuses an unknown one: %s', (text) => {
    expect(() => read({ ACCEPTED_FORMATS: text })).toThrow('ACCEPTED_FORMATS must be some of ');
  });
});

describe('SIGN_IN_WAYS', () => {
  it.each([
    [undefined, ['password', 'link', 'passkey']],
    ['link, password', ['password', 'link']],
    ['link', ['link']],
    ['passkey,link', ['link', 'passkey']],
    ['none', []],
  ])('%s is %j', (SIGN_IN_WAYS, ways) => expect(read({ SIGN_IN_WAYS }).signInWays).toEqual(ways));

  it.each(['passwords', 'password,none', ',', 'password,', 'constructor'])('refuses %s', (text) => {
    expect(() => read({ SIGN_IN_WAYS: text })).toThrow(
      refusal('SIGN_IN_WAYS', 'must be none, or some of password, link, passkey, separated by commas'),
    );
  });
});

it('every broken variable is named, each on its line', () => {
  expect(() => read({ PORT: 'x', LEASE_SECONDS: '0' })).toThrow(
    /^Invalid environment variables:\n {2}PORT must [^\n]+\n {2}LEASE_SECONDS must [^\n]+$/,
  );
});

describe('the way out', () => {
  const PROXY = { EGRESS_PROXY_URL: 'http://user:p%40ss@proxy:3128' };

  it('goes through a proxy, but for some hosts', () => {
    const variables = { ...PROXY, EGRESS_NO_PROXY: '.internal, engine,10.0.0.0/8,::1', EGRESS_PROXY_RESOLVES: 'true' };
    expect(read(variables)).toMatchObject({
      egressProxyUrl: PROXY.EGRESS_PROXY_URL,
      egressNoProxy: ['.internal', 'engine', '10.0.0.0/8', '::1'],
      egressProxyResolves: true,
    });
  });

  it.each<[NodeJS.ProcessEnv, string]>([
    [{ EGRESS_PROXY_URL: 'socks5://proxy' }, 'EGRESS_PROXY_URL must be a URL that starts with http://'],
    [{ EGRESS_PROXY_URL: 'http://proxy/path' }, 'EGRESS_PROXY_URL must be http:// or https:// with a host and no path'],
    [{ EGRESS_PROXY_URL: 'http://proxy/?a=b' }, 'EGRESS_PROXY_URL must be http:// or https:// with a host and no path'],
    [{ EGRESS_NO_PROXY: '.internal' }, 'EGRESS_NO_PROXY needs EGRESS_PROXY_URL'],
    [{ EGRESS_PROXY_RESOLVES: 'true' }, 'EGRESS_PROXY_RESOLVES needs EGRESS_PROXY_URL'],
    [{ ...PROXY, EGRESS_PROXY_RESOLVES: 'yes' }, 'EGRESS_PROXY_RESOLVES must be one of true, false'],
    [
      { ...PROXY, EGRESS_NO_PROXY: 'http://engine' },
      'EGRESS_NO_PROXY must be hosts, domains such as .internal, or CIDRs',
    ],
    [{ ...PROXY, EGRESS_NO_PROXY: '*' }, 'EGRESS_NO_PROXY must be hosts, domains such as .internal, or CIDRs'],
    [
      { EGRESS_SOURCE_ADDRESSES: '192.0.2.7,192.0.2.8' },
      'EGRESS_SOURCE_ADDRESSES must be at most one IPv4 and one IPv6 address',
    ],
    [
      { EGRESS_PROXY_URL: 'http://[2001:db8::1]:3128', EGRESS_SOURCE_ADDRESSES: '192.0.2.7' },
      'EGRESS_SOURCE_ADDRESSES must have an IPv6 address for that of EGRESS_PROXY_URL',
    ],
  ])('%j: %s', (variables, problem) => {
    expect(() => read(variables)).toThrow(problem);
  });
});
