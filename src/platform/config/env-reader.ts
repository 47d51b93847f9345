import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AUDIO_FORMAT_NAMES, AUDIO_FORMATS, type AudioFormat, CONTRACT_FORMATS } from '../audio-formats.js';

export type Role = 'api' | 'transcriber' | 'deliverer';

/** A token bucket: `rate` tokens a minute, at most `burst` at once. */
export interface RateLimit {
  rate: number;
  burst: number;
}

/** One line for each broken variable. */
export class InvalidEnvironmentError extends Error {
  override readonly name = 'InvalidEnvironmentError';

  constructor(problems: readonly string[]) {
    super(`Invalid environment variables:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

export const SECRET_KEY_LENGTH = 32;
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
  'REDIS_SENTINEL_PASSWORD',
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'STORAGE_KEY',
  'STORAGE_KEY_PREVIOUS',
  'STORAGE_KMS_TOKEN',
  'STORAGE_KMS_CLIENT_CERT',
  'STORAGE_KMS_CLIENT_KEY',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'BACKUP_S3_ACCESS_KEY_ID',
  'BACKUP_S3_SECRET_ACCESS_KEY',
  'OPENAI_API_KEY',
  'HF_TOKEN',
  'METRICS_TOKEN',
  'OIDC_PROVIDERS',
  'SMTP_URL',
  'EGRESS_PROXY_URL',
  'WEBHOOK_CLIENT_CERT',
  'WEBHOOK_CLIENT_KEY',
  'OPENAI_CLIENT_CERT',
  'OPENAI_CLIENT_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
]);
/** With the mount, before which there may be namespaces, and the name. */
export const TRANSIT_KEY_PATH = /^\/v1\/([\w.-]+(?:\/[\w.-]+)*)\/keys\/([\w.-]+)$/;
/** Hosts of this machine, as `URL` writes them. */
export const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const WEBHOOK_RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Reads variables of one source, and collects what is wrong with them. */
export class EnvReader {
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

  /** One that expires. Its file is read again when it is refused. */
  renewedSecret(name: string): { value: string; file: string | null } | null {
    const value = this.text(name);
    return value === null ? null : { value, file: this.source[`${name}_FILE`]?.trim() || null };
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

  optionalInteger(name: string, min: number, max: number): number | null {
    return this.text(name) === null ? null : this.integer(name, min, min, max);
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

  /** Its parameter `connect_timeout` is read by data-source.ts, all others by pg. */
  postgresUrl(name: string): string | null {
    const url = this.url(name, ['postgres:', 'postgresql:']);
    const seconds = url !== null && URL.canParse(url) ? new URL(url).searchParams.get('connect_timeout') : null;
    const valid = seconds === null || /^[1-9]\d{0,2}$/.test(seconds);
    return valid ? url : this.refuse(name, 'must have a connect_timeout of 1 to 999 seconds', url);
  }

  /** Of a server that takes mail: with TLS, unless its parameter is `tls=none`. */
  smtpUrl(name: string): string | null {
    const url = this.url(name, ['smtps:', 'smtp:']);
    if (url === null || !URL.canParse(url)) return null;
    const { hostname, search, protocol } = new URL(url);
    const valid = hostname !== '' && (search === '' || (search === '?tls=none' && protocol === 'smtp:'));
    return valid
      ? url
      : this.refuse(name, 'must be smtps:// or smtp:// with a host and no parameter but tls=none', url);
  }

  /** Of a proxy, with credentials if it wants some. */
  proxyUrl(name: string): string | null {
    const url = this.url(name, ['http:', 'https:']);
    if (url === null || !URL.canParse(url)) return null;
    const { hostname, pathname, search, hash } = new URL(url);
    const valid = hostname !== '' && pathname === '/' && search === '' && hash === '';
    return valid ? url : this.refuse(name, 'must be http:// or https:// with a host and no path', null);
  }

  /** Of a key in Vault or OpenBao. In clear it may be on this machine only: an agent, or a proxy of the mesh. */
  keyUrl(name: string): string | null {
    const url = this.url(name, ['https:', 'http:']);
    if (url === null || !URL.canParse(url)) return null;
    const { protocol, hostname, pathname, search, hash, username } = new URL(url);
    if (!TRANSIT_KEY_PATH.test(pathname) || search !== '' || hash !== '' || username !== '')
      return this.refuse(name, 'must end with the path of a key, such as /v1/transit/keys/voice-notes', null);
    const isAllowed = protocol === 'https:' || LOOPBACK.has(hostname);
    return isAllowed ? url : this.refuse(name, 'must be https:// unless the host is this machine', null);
  }

  /** A certificate with its chain, and the key of it, both as PEM. Null if neither is set. */
  clientCertificate(certName: string, keyName: string): { cert: string | null; key: string | null } {
    const [cert, key] = [this.text(certName), this.text(keyName)];
    if (cert === null && key === null) return { cert, key };
    if (cert === null || key === null) {
      const [set, absent] = cert === null ? [keyName, certName] : [certName, keyName];
      return this.refuse(set, `needs ${absent}`, { cert: null, key: null });
    }
    const certificate = parsed(() => new X509Certificate(cert));
    const privateKey = parsed(() => createPrivateKey(key));
    if (!certificate) this.refuse(certName, 'must be a certificate as PEM', null);
    if (!privateKey) this.refuse(keyName, 'must be a key without a passphrase as PEM', null);
    if (certificate && privateKey && !certificate.checkPrivateKey(privateKey))
      this.refuse(keyName, `must be the key of the certificate in ${certName}`, null);
    return { cert, key };
  }

  list(name: string, valid: (item: string) => boolean, what: string): readonly string[] {
    const items = (this.text(name) ?? '').split(',').flatMap((item) => item.trim() || []);
    return items.every(valid) ? items : this.refuse(name, `must be ${what}, separated by commas`, []);
  }

  /** All of them when nothing is set; none for `none`. */
  someOf<T extends string>(name: string, allowed: readonly T[]): readonly T[] {
    const text = this.text(name);
    if (text === null || text === 'none') return text === null ? allowed : [];
    const named = text.split(',').map((item) => item.trim());
    const isKnown = named.every((item) => allowed.some((one) => one === item));
    if (!isKnown) this.refuse(name, `must be none, or some of ${allowed.join(', ')}, separated by commas`, []);
    return allowed.filter((one) => named.includes(one));
  }

  secret(name: string, minLength: number): string | null {
    const text = this.text(name);
    if (text === null || text.length >= minLength) return text;
    return this.refuse(name, `must be at least ${minLength} characters long`, text);
  }

  secretKey(name: string, nodeEnv: string): string {
    const key = this.secret(name, SECRET_KEY_LENGTH) ?? this.missing(name);
    const isWeak = nodeEnv === 'production' && key.length >= SECRET_KEY_LENGTH && estimateBits(key) < MIN_KEY_BITS;
    return isWeak ? this.refuse(name, 'is easy to guess; make one with: openssl rand -base64 48', key) : key;
  }

  /** A secret that would be of no use if it were the same as the one called `first`. */
  otherSecret(name: string, minLength: number, first: string): string | null {
    const text = this.secret(name, minLength);
    return text !== null && text === this.text(first) ? this.refuse(name, `must differ from ${first}`, text) : text;
  }

  roles(): readonly Role[] {
    const names = this.list(
      'ROLES',
      (item) => Object.hasOwn(ROLES, item),
      `one or more of ${Object.keys(ROLES).join(', ')}`,
    );
    const roles = names.flatMap((name) => ROLES[name] ?? []);
    return roles.length > 0 ? [...new Set(roles)] : ['api', 'transcriber', 'deliverer'];
  }

  audioFormats(): readonly AudioFormat[] {
    const name = 'ACCEPTED_FORMATS';
    const isFormat = (item: string): boolean => Object.hasOwn(AUDIO_FORMATS, item);
    const named = this.list(name, isFormat, `some of ${AUDIO_FORMAT_NAMES.join(', ')}`);
    if (named.length === 0) return AUDIO_FORMAT_NAMES;
    const accepted = AUDIO_FORMAT_NAMES.filter((format) => named.includes(format));
    return CONTRACT_FORMATS.every((format) => named.includes(format))
      ? accepted
      : this.refuse(name, `must contain ${CONTRACT_FORMATS.join(', ')}, on which clients rely`, accepted);
  }

  rateLimit(name: string, fallback: RateLimit): RateLimit {
    const text = this.text(name);
    if (text === null) return fallback;
    const [, rate, burst] = /^(\d{1,7})\/(\d{1,7})$/.exec(text)?.map(Number) ?? [];
    if (rate && burst && burst >= rate) return { rate, burst };
    return this.refuse(name, 'must be rate/burst in requests a minute, such as 60/120, burst not below rate', fallback);
  }

  schedule(name: string): readonly number[] {
    const items = this.list(name, (item) => /^\d{1,7}$/.test(item), 'seconds between attempts');
    return items.length > 0 ? items.map(Number) : WEBHOOK_RETRY_SECONDS;
  }

  trustProxy(): false | number | readonly string[] {
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

  refuse<T>(name: string, rule: string, fallback: T): T {
    this.problems.add(`${name} ${rule}`);
    return fallback;
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

function parsed<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

/** Random hex of 32 characters is estimated at 100 to 120 bits, `openssl rand -hex 32` at 230. */
export const MIN_KEY_BITS = 80;

/**
 * An upper estimate of the entropy of a key in bits, from how often its characters and the steps between them occur and
 * from its period. It finds keys that a person typed or repeated, not every weak one.
 */
export function estimateBits(key: string): number {
  const characters = Array.from(key.slice(0, periodOf(key)), (character) => character.codePointAt(0) as number);
  const steps = characters.slice(1).map((code, i) => code - (characters[i] as number));
  return Math.min(bitsOf(characters), bitsOf(steps));
}

/** Shannon entropy of one value, times the number of values. */
function bitsOf(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const share = (count: number): number => count / values.length;
  return values.length * [...counts.values()].reduce((sum, count) => sum - share(count) * Math.log2(share(count)), 0);
}

/** Length of the shortest beginning whose repetition makes the whole text. */
function periodOf(text: string): number {
  for (let length = 1; length < text.length; length++) {
    if (text.startsWith(text.slice(length)) && length <= text.length / 2) return length;
  }
  return text.length;
}
