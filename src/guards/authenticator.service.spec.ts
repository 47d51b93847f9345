import type { CredentialVersionsService } from '../access/credential-versions.service.js';
import type { AccessTokenGrant, AccessTokensService, EndUser } from '../modules/access-tokens/access-tokens.service.js';
import type { AccountAccess, AccountService } from '../modules/account/account.service.js';
import type { ApiKeyCredential, ApiKeyCredentialsService } from '../modules/api-keys/api-key-credentials.service.js';
import type { SessionCredential, SessionCredentialsService } from '../modules/people/session-credentials.service.js';
import type { AccountIssuers, IssuedTokensService } from '../modules/token-issuers/issued-tokens.service.js';
import { ServiceUnavailableError } from '../platform/errors/errors.js';
import { Networks } from '../platform/http/networks.js';
import { AuthenticatorService, CredentialCache, readCredentials, type Versioned } from './authenticator.service.js';

const ADDRESS = '192.0.2.1';
const EXPIRY = new Date('2100-01-01T00:00:00Z');
const SOONER = new Date('2099-01-01T00:00:00Z');
const PAIR = { 'x-service-api-key': 'key', 'x-service-api-secret': 'secret' };
const TOKEN = { authorization: 'Bearer token' };
const COOKIE = { cookie: 'theme=dark; __Host-vnotes-session=session' };
const ISSUED = { authorization: 'Bearer issued' };
const CREDENTIAL = {
  id: 'key-1',
  accountId: 'a',
  scopes: ['recordings:read'],
  secretHash: '',
  expiresAt: EXPIRY,
  networks: null,
  version: 7,
} satisfies ApiKeyCredential;
const USER: EndUser = { accountId: 'a', userId: 'user', tokenId: 'token-1', keyId: 'key-2', version: 5 };
const QUOTAS = { storedBytes: 1, audioSecondsPerMonth: 2, queuedAudioSeconds: 3, concurrentUploads: 4 };
const ACCESS: AccountAccess = {
  suspended: false,
  isTest: false,
  recordsReads: false,
  limit: { rate: 10, burst: 20 },
  quotas: QUOTAS,
  version: 7,
};
const GRANT = { keyIsValid: true, expiresAt: SOONER, validFrom: 0, version: 7 } as AccessTokenGrant;

const SESSION: SessionCredential = {
  id: 'session-1',
  personId: 'person-1',
  accountId: 'a',
  scopes: ['recordings:read'],
  lastSeenAt: new Date(),
  expiresAt: EXPIRY,
  version: 7,
  isDue: false,
};

describe('AuthenticatorService', () => {
  let credential: ApiKeyCredential | null;
  let user: EndUser | null;
  let grant: AccessTokenGrant | null;
  let isGranted: boolean;
  /** Of the account, and whether one of them has signed the token. */
  let issuers: AccountIssuers | null;
  let isSigned: boolean;
  let isWellFormed: boolean;
  let secret: string;
  let access: AccountAccess | null;
  let session: SessionCredential | null;
  /** Answers of Redis: whether a version is the current one. */
  let current: boolean[];
  let steps: string[];
  let used: string[];
  let authenticator: AuthenticatorService;

  beforeEach(() => {
    [credential, user, grant, access, session] = [{ ...CREDENTIAL }, USER, GRANT, ACCESS, SESSION];
    [isGranted, isWellFormed, secret] = [true, true, 'secret'];
    [issuers, isSigned] = [{ version: 6, issuers: [] }, true];
    [current, steps, used] = [[], [], []];
    const read =
      <T>(what: string, value: () => T) =>
      async () => {
        steps.push(what);
        return value();
      };
    const keys = {
      isWellFormed: () => isWellFormed,
      findCredential: read('key', () => credential),
      verifySecret: (found: unknown, given: string) => found === credential && given === secret,
      refusedAddress: (found: ApiKeyCredential, address: string) =>
        found.networks === null || found.networks.includes(address) ? null : address,
      countUse: (id: string) => void used.push(id),
    };
    const tokens = {
      verify: async (given: string) => (given === 'token' ? user : null),
      grantIdOf: ({ keyId }: EndUser) => `${keyId}`,
      findGrant: read('grant', () => grant),
      isGranted: (_: unknown, found: unknown) => found === grant && isGranted,
    };
    const issuedTokens = {
      read: (given: string) => (given === 'issued' ? { token: given, accountId: 'a', issuer: 'i' } : null),
      findIssuers: read('issuers', () => issuers),
      verify: async (_: unknown, found: unknown) =>
        found === issuers && isSigned ? { userId: 'their user', rights: ['read'] } : null,
    };
    const sessions = {
      hashOf: (given: string) => (given === 'session' ? 'hash' : null),
      find: read('session', () => session),
      countUse: ({ id }: SessionCredential) => void used.push(id),
    };
    const versions = {
      readTime: async () => steps.push('time'),
      isCurrent: async (accountId: string, version: number) => {
        steps.push(`current ${accountId} ${version}`);
        return current.shift() ?? true;
      },
      confirm: async (accountId: string, version: number, asOf: number) => {
        steps.push(`confirm ${accountId} ${version} as of ${asOf}`);
        return current.shift() ?? true;
      },
    };
    authenticator = new AuthenticatorService(
      keys as unknown as ApiKeyCredentialsService,
      tokens as unknown as AccessTokensService,
      issuedTokens as unknown as IssuedTokensService,
      sessions as unknown as SessionCredentialsService,
      { findAccess: read('account', () => access) } as unknown as AccountService,
      versions as unknown as CredentialVersionsService,
    );
  });

  it('knows the caller of a key pair', async () => {
    expect(await authenticator.authenticate(PAIR, ADDRESS)).toEqual({
      accountId: 'a',
      suspended: false,
      isTest: false,
      recordsReads: false,
      limit: ACCESS.limit,
      quotas: QUOTAS,
      credential: 'api_key',
      keyId: 'key-1',
      keyExpiresAt: EXPIRY,
      refusedAddress: null,
      tokenId: null,
      sessionId: null,
      personId: null,
      version: 7,
      scopes: ['recordings:read'],
      userId: null,
      endUserRights: [],
    });
    expect(used).toEqual(['key-1']);
  });

  it('says from where a key may not be used, and counts no use of it there (D95)', async () => {
    credential = { ...CREDENTIAL, networks: new Networks(['203.0.113.0/24']) };
    expect(await authenticator.authenticate(PAIR, ADDRESS)).toMatchObject({ accountId: 'a', refusedAddress: ADDRESS });
    expect(await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS)).toMatchObject({ refusedAddress: ADDRESS });
    expect(await authenticator.authenticate(TOKEN, ADDRESS)).toMatchObject({ refusedAddress: null });
    expect(used).toEqual([]);
    expect(await authenticator.authenticate(PAIR, '203.0.113.9')).toMatchObject({ refusedAddress: null });
    expect(used).toEqual(['key-1']);
  });

  it('knows the end user of a token, the key that issued it, and no scope', async () => {
    expect(await authenticator.authenticate(TOKEN, ADDRESS)).toMatchObject({
      credential: 'access_token',
      keyId: 'key-2',
      keyExpiresAt: SOONER,
      tokenId: 'token-1',
      scopes: [],
      userId: 'user',
    });
    expect(used).toEqual([]);
  });

  it('knows the end user of a token of the account’s own issuer, and what they may do (D94)', async () => {
    expect(await authenticator.authenticate(ISSUED, ADDRESS)).toMatchObject({
      accountId: 'a',
      credential: 'access_token',
      keyId: null,
      tokenId: null,
      scopes: [],
      userId: 'their user',
      endUserRights: ['read'],
      version: 6,
    });
  });

  it('reads the issuers again before it refuses a token, unless they are current (D94)', async () => {
    isSigned = false;
    current = [false];
    expect(await authenticator.authenticate(ISSUED, ADDRESS)).toBeNull();
    expect(steps).toEqual(['issuers', 'current a 6', 'issuers']);
    steps.length = 0;
    expect(await authenticator.authenticate(ISSUED, ADDRESS)).toBeNull();
    expect(steps).toEqual(['current a 6']);
    issuers = null;
    current = [false];
    expect(await authenticator.authenticate(ISSUED, ADDRESS)).toBeNull();
  });

  it('knows the person of a session, with the scopes of the role, unless another credential is sent (D97)', async () => {
    expect(await authenticator.authenticate(COOKIE, ADDRESS)).toMatchObject({
      accountId: 'a',
      credential: 'session',
      keyId: null,
      sessionId: 'session-1',
      personId: 'person-1',
      scopes: ['recordings:read'],
      userId: null,
      version: 7,
    });
    expect(used).toEqual(['session-1']);
    expect(await authenticator.authenticate({ ...COOKIE, ...PAIR }, ADDRESS)).toMatchObject({ credential: 'api_key' });
    expect(await authenticator.authenticate({ ...COOKIE, authorization: 'Bearer other' }, ADDRESS)).toBeNull();
  });

  it('reads a session again once its account has another version, and knows it no more when it has ended', async () => {
    await authenticator.authenticate(COOKIE, ADDRESS);
    [session, current, steps.length] = [null, [false], 0];
    expect(await authenticator.authenticate(COOKIE, ADDRESS)).toBeNull();
    expect(steps).toEqual(['current a 7', 'time', 'session']);
  });

  it('takes a token beside a key pair for the end user, and the pair for everything else', async () => {
    expect(await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS)).toMatchObject({
      credential: 'api_key',
      keyId: 'key-1',
      keyExpiresAt: EXPIRY,
      tokenId: 'token-1',
      scopes: ['recordings:read'],
      userId: 'user',
    });
  });

  it.each<[string, Record<string, string>, () => void]>([
    ['nothing', {}, () => undefined],
    ['half a pair', { 'x-service-api-key': 'key' }, () => undefined],
    ['a pair that cannot exist', PAIR, () => (isWellFormed = false)],
    ['an unknown key', PAIR, () => (credential = null)],
    ['another secret', PAIR, () => (secret = 'other')],
    ['an unknown token', { authorization: 'Bearer other' }, () => undefined],
    ['an empty token', { authorization: 'Bearer' }, () => undefined],
    ['an unknown token beside a valid pair', { ...PAIR, authorization: 'Bearer other' }, () => undefined],
    ['a token without a grant', TOKEN, () => (grant = null)],
    ['a voided token', TOKEN, () => (isGranted = false)],
    ['a voided token beside a valid pair', { ...PAIR, ...TOKEN }, () => (isGranted = false)],
    ['a token of another account beside a pair', { ...PAIR, ...TOKEN }, () => (user = { ...USER, accountId: 'b' })],
    ['a cookie that is no session', { cookie: '__Host-vnotes-session=other' }, () => undefined],
    ['a session that has ended', COOKIE, () => (session = null)],
    ['an account that is gone', PAIR, () => (access = null)],
  ])('does not know %s, and counts no use', async (_, headers, prepare) => {
    prepare();
    expect(await authenticator.authenticate(headers, ADDRESS)).toBeNull();
    expect(used).toEqual([]);
  });

  it('looks up no key that cannot exist, and no account of one with another secret', async () => {
    isWellFormed = false;
    await authenticator.authenticate(PAIR, ADDRESS);
    isWellFormed = true;
    secret = 'other';
    await authenticator.authenticate(PAIR, ADDRESS);
    expect(steps).toEqual(['key']);
  });

  it('counts reads at different versions as made at the oldest', async () => {
    [access, grant] = [
      { ...ACCESS, version: 8 },
      { ...GRANT, version: 6 },
    ];
    expect((await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS))?.version).toBe(6);
    [access, grant] = [
      { ...ACCESS, version: 5 },
      { ...GRANT, version: 9 },
    ];
    expect(steps).toContain('current a 6');
  });

  it('uses what it remembers only after a look at its version, and reads everything anew when that is old', async () => {
    await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS);
    steps.length = 0;
    await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS);
    expect(steps).toEqual(['current a 7']);
    steps.length = 0;
    current = [false, true];
    await authenticator.authenticate({ ...PAIR, ...TOKEN }, ADDRESS);
    expect(steps.slice(0, 2)).toEqual(['current a 7', 'time']);
    expect(steps.slice(2).toSorted()).toEqual(['account', `confirm a 7 as of 2`, 'grant', 'key']);
    expect(steps.at(-1)).toBe('confirm a 7 as of 2');
    expect(used).toEqual(['key-1', 'key-1', 'key-1']);
  });

  it('gives up after three fresh reads, and asks to come again in a second', async () => {
    current = [false, false, false, false, true];
    const error: unknown = await authenticator.authenticate(PAIR, ADDRESS).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnavailableError);
    expect((error as ServiceUnavailableError).retryAfter).toBe(1);
    expect(steps.filter((step) => step === 'key')).toHaveLength(4);
    expect(used).toEqual([]);
    current = [false, false, false, true];
    expect(await authenticator.authenticate(PAIR, ADDRESS)).not.toBeNull();
  });

  it('passes on that Postgres cannot be reached', async () => {
    access = new Proxy(ACCESS, {
      get() {
        throw new Error('no connection');
      },
    });
    await expect(authenticator.authenticate(PAIR, ADDRESS)).rejects.toThrow('no connection');
  });
});

const START = new Date('2026-11-22T10:00:00Z');

describe('CredentialCache', () => {
  /** Reads that Postgres has not answered yet. */
  let reads: { id: string; answer: (value: Versioned | null | Error) => void }[];
  /** Of each read: whether the value was in the cache. */
  let known: boolean[];
  let cache: CredentialCache<Versioned>;

  beforeEach(() => {
    jest.useFakeTimers({ now: START, doNotFake: ['nextTick', 'performance'] });
    // The clock of lru-cache.
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    reads = [];
    known = [];
    cache = new CredentialCache(
      (id, { isKnown }) =>
        new Promise((resolve, reject) => {
          known.push(isKnown);
          reads.push({ id, answer: (value) => (value instanceof Error ? reject(value) : resolve(value)) });
        }),
    );
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const version = (number: number, expiresAt: Date | null = null): Versioned => ({ version: number, expiresAt });

  async function cached(value: Versioned): Promise<void> {
    const reading = cache.get('a', false);
    reads.at(-1)?.answer(value);
    await reading;
  }

  it('keeps a value for later requests, except those that ask for a fresh one', async () => {
    await cached(version(1));
    await pass(86_400_000);
    expect(await cache.get('a', false)).toEqual(version(1));
    expect(reads).toHaveLength(1);
    const fresh = cache.get('a', true);
    reads[1]?.answer(version(2));
    expect(await fresh).toEqual(version(2));
    expect(await cache.get('a', false)).toEqual(version(2));
  });

  it('shares a read among the requests that come within half a second, and no later one', async () => {
    const early = [cache.get('a', false), cache.get('a', true)];
    await pass(499);
    early.push(cache.get('a', true));
    expect(reads).toHaveLength(1);
    await pass(1);
    const late = cache.get('a', true);
    expect(reads).toHaveLength(2);
    reads[1]?.answer(version(2));
    expect(await late).toEqual(version(2));
    // The slow read answers at last: its requests get what it read, and the newer value stays.
    reads[0]?.answer(version(1));
    expect(await Promise.all(early)).toEqual([version(1), version(1), version(1)]);
    expect(await cache.get('a', false)).toEqual(version(2));
  });

  it('tells the reader which ids were valid when last read: others may be guesses', async () => {
    await cached(version(1));
    void cache.get('a', true);
    void cache.get('b', false);
    expect(known).toEqual([false, true, false]);
  });

  it('takes a later read of the same version', async () => {
    const later = { ...version(3), name: 'later' };
    await cached(version(3));
    const fresh = cache.get('a', true);
    reads[1]?.answer(later);
    await fresh;
    expect(await cache.get('a', false)).toMatchObject({ name: 'later' });
  });

  it('shares no read among different ids', async () => {
    const both = [cache.get('a', false), cache.get('b', false)];
    for (const { id, answer } of reads) answer(version(id === 'a' ? 1 : 2));
    expect(await Promise.all(both)).toEqual([version(1), version(2)]);
  });

  it('reads again after a read that failed', async () => {
    const failed = cache.get('a', false);
    reads[0]?.answer(new Error('no connection'));
    await expect(failed).rejects.toThrow('no connection');
    await cached(version(1));
    expect(reads).toHaveLength(2);
  });

  it('forgets a key when it expires', async () => {
    await cached(version(1, new Date(START.getTime() + 60_000)));
    await pass(59_000);
    expect(await cache.get('a', false)).not.toBeNull();
    await pass(1001);
    void cache.get('a', false);
    expect(reads).toHaveLength(2);
  });

  it('does not keep a key that has expired, nor what it knew of it before', async () => {
    await cached(version(1));
    const fresh = cache.get('a', true);
    reads[1]?.answer(version(2, START));
    await fresh;
    void cache.get('a', false);
    expect(reads).toHaveLength(3);
  });

  it('forgets what is no longer in Postgres, and does not keep that it is not', async () => {
    await cached(version(1));
    const fresh = cache.get('a', true);
    reads[1]?.answer(null);
    expect(await fresh).toBeNull();
    void cache.get('a', false);
    expect(reads).toHaveLength(3);
  });

  it('keeps 10,000 values at most', async () => {
    for (let i = 0; i <= 10_000; i++) {
      const reading = cache.get(`${i}`, false);
      reads.at(-1)?.answer(version(i));
      await reading;
    }
    void cache.get('0', false);
    expect(reads).toHaveLength(10_002);
    for (const id of ['2', '10000']) await cache.get(id, false);
    expect(reads).toHaveLength(10_002);
  });
});

const KEY_PAIR = { key: 'vnk_a', secret: 'vns_b' };
const HEADERS = { 'x-service-api-key': 'vnk_a', 'x-service-api-secret': 'vns_b' };

describe('readCredentials', () => {
  it.each([
    ['nothing', {}, { keyPair: null, token: null }],
    ['a pair in its headers', HEADERS, { keyPair: KEY_PAIR, token: null }],
    ['a pair as Bearer', { authorization: 'Bearer vnk_a.vns_b' }, { keyPair: KEY_PAIR, token: null }],
    [
      'a secret with dots',
      { authorization: 'Bearer vnk_a.vns_b.c' },
      { keyPair: { ...KEY_PAIR, secret: 'vns_b.c' }, token: null },
    ],
    ['the same pair twice', { ...HEADERS, authorization: 'Bearer vnk_a.vns_b' }, { keyPair: KEY_PAIR, token: null }],
    ['a token', { authorization: 'Bearer abc' }, { keyPair: null, token: 'abc' }],
    ['a token after several blanks', { authorization: 'bEARER   abc' }, { keyPair: null, token: 'abc' }],
    ['a token beside a pair', { ...HEADERS, authorization: 'Bearer abc' }, { keyPair: KEY_PAIR, token: 'abc' }],
    ['a key without a secret as a token', { authorization: 'Bearer vnk_a' }, { keyPair: null, token: 'vnk_a' }],
    [
      'halves in the other order as a token',
      { authorization: 'Bearer vns_b.vnk_a' },
      { keyPair: null, token: 'vns_b.vnk_a' },
    ],
    [
      'something before a pair as a token',
      { authorization: 'Bearer x vnk_a.vns_b' },
      { keyPair: null, token: 'x vnk_a.vns_b' },
    ],
    ['the scheme alone as an empty token', { authorization: 'Bearer' }, { keyPair: null, token: '' }],
    ['the scheme and blanks as an empty token', { authorization: 'Bearer  ' }, { keyPair: null, token: '' }],
    [
      'an empty pair',
      { 'x-service-api-key': '', 'x-service-api-secret': '' },
      { keyPair: { key: '', secret: '' }, token: null },
    ],
    ['another scheme as nothing', { authorization: 'Basic dTpw' }, { keyPair: null, token: null }],
    ['a scheme that begins like Bearer as nothing', { authorization: 'Bearerabc' }, { keyPair: null, token: null }],
    ['a pair beside another scheme', { ...HEADERS, authorization: 'Basic dTpw' }, { keyPair: KEY_PAIR, token: null }],
  ])('reads %s', (_, headers, sent) => {
    expect(readCredentials(headers)).toEqual(sent);
  });

  it.each([
    ['a key without a secret', { 'x-service-api-key': 'vnk_a' }],
    ['a secret without a key', { 'x-service-api-secret': 'vns_b' }],
    ['half a pair beside a token', { 'x-service-api-key': 'vnk_a', authorization: 'Bearer abc' }],
    ['half a pair beside a whole one', { 'x-service-api-secret': 'vns_b', authorization: 'Bearer vnk_a.vns_b' }],
    ['a pair beside one with another key', { ...HEADERS, authorization: 'Bearer vnk_x.vns_b' }],
    ['a pair beside one with another secret', { ...HEADERS, authorization: 'Bearer vnk_a.vns_x' }],
  ])('refuses %s', (_, headers) => {
    expect(readCredentials(headers)).toBeNull();
  });
});
