import type { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type {
  AccessTokenGrant,
  AccessTokensService,
  EndUser,
} from '../../modules/access-tokens/access-tokens.service.js';
import type { AccountAccess, AccountService } from '../../modules/account/account.service.js';
import type { ApiKeyCredential, ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import { ServiceUnavailableError } from '../../platform/errors/errors.js';
import { AuthenticatorService } from './authenticator.service.js';

const EXPIRY = new Date('2100-01-01T00:00:00Z');
const SOONER = new Date('2099-01-01T00:00:00Z');
const PAIR = { 'x-service-api-key': 'key', 'x-service-api-secret': 'secret' };
const TOKEN = { authorization: 'Bearer token' };
const CREDENTIAL = {
  id: 'key-1',
  accountId: 'a',
  scopes: ['recordings:read'],
  secretHash: '',
  expiresAt: EXPIRY,
  version: 7,
} satisfies ApiKeyCredential;
const USER: EndUser = { accountId: 'a', userId: 'user', tokenId: 'token-1', keyId: 'key-2', version: 5 };
const QUOTAS = { storedBytes: 1, audioSecondsPerMonth: 2, queuedAudioSeconds: 3, concurrentUploads: 4 };
const ACCESS: AccountAccess = { suspended: false, limit: { rate: 10, burst: 20 }, quotas: QUOTAS, version: 7 };
const GRANT = { keyIsValid: true, expiresAt: SOONER, validFrom: 0, version: 7 } as AccessTokenGrant;

describe('AuthenticatorService', () => {
  let credential: ApiKeyCredential | null;
  let user: EndUser | null;
  let grant: AccessTokenGrant | null;
  let isGranted: boolean;
  let isWellFormed: boolean;
  let secret: string;
  let access: AccountAccess | null;
  /** Answers of Redis: whether a version is the current one. */
  let current: boolean[];
  let steps: string[];
  let used: string[];
  let authenticator: AuthenticatorService;

  beforeEach(() => {
    [credential, user, grant, access] = [{ ...CREDENTIAL }, USER, GRANT, ACCESS];
    [isGranted, isWellFormed, secret] = [true, true, 'secret'];
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
      countUse: (id: string) => void used.push(id),
    };
    const tokens = {
      verify: async (given: string) => (given === 'token' ? user : null),
      grantIdOf: ({ keyId }: EndUser) => `${keyId}`,
      findGrant: read('grant', () => grant),
      isGranted: (_: unknown, found: unknown) => found === grant && isGranted,
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
      keys as unknown as ApiKeysService,
      tokens as unknown as AccessTokensService,
      { findAccess: read('account', () => access) } as unknown as AccountService,
      versions as unknown as CredentialVersionsService,
    );
  });

  it('knows the caller of a key pair', async () => {
    expect(await authenticator.authenticate(PAIR)).toEqual({
      accountId: 'a',
      suspended: false,
      limit: ACCESS.limit,
      quotas: QUOTAS,
      credential: 'api_key',
      keyId: 'key-1',
      keyExpiresAt: EXPIRY,
      tokenId: null,
      version: 7,
      scopes: ['recordings:read'],
      userId: null,
    });
    expect(used).toEqual(['key-1']);
  });

  it('knows the end user of a token, the key that issued it, and no scope', async () => {
    expect(await authenticator.authenticate(TOKEN)).toMatchObject({
      credential: 'access_token',
      keyId: 'key-2',
      keyExpiresAt: SOONER,
      tokenId: 'token-1',
      scopes: [],
      userId: 'user',
    });
    expect(used).toEqual([]);
  });

  it('takes a token beside a key pair for the end user, and the pair for everything else', async () => {
    expect(await authenticator.authenticate({ ...PAIR, ...TOKEN })).toMatchObject({
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
    ['an account that is gone', PAIR, () => (access = null)],
  ])('does not know %s, and counts no use', async (_, headers, prepare) => {
    prepare();
    expect(await authenticator.authenticate(headers)).toBeNull();
    expect(used).toEqual([]);
  });

  it('looks up no key that cannot exist, and no account of one with another secret', async () => {
    isWellFormed = false;
    await authenticator.authenticate(PAIR);
    isWellFormed = true;
    secret = 'other';
    await authenticator.authenticate(PAIR);
    expect(steps).toEqual(['key']);
  });

  it('counts reads at different versions as made at the oldest', async () => {
    [access, grant] = [
      { ...ACCESS, version: 8 },
      { ...GRANT, version: 6 },
    ];
    expect((await authenticator.authenticate({ ...PAIR, ...TOKEN }))?.version).toBe(6);
    [access, grant] = [
      { ...ACCESS, version: 5 },
      { ...GRANT, version: 9 },
    ];
    expect(steps).toContain('current a 6');
  });

  it('uses what it remembers only after a look at its version, and reads everything anew when that is old', async () => {
    await authenticator.authenticate({ ...PAIR, ...TOKEN });
    steps.length = 0;
    await authenticator.authenticate({ ...PAIR, ...TOKEN });
    expect(steps).toEqual(['current a 7']);
    steps.length = 0;
    current = [false, true];
    await authenticator.authenticate({ ...PAIR, ...TOKEN });
    expect(steps.slice(0, 2)).toEqual(['current a 7', 'time']);
    expect(steps.slice(2).toSorted()).toEqual(['account', `confirm a 7 as of 2`, 'grant', 'key']);
    expect(steps.at(-1)).toBe('confirm a 7 as of 2');
    expect(used).toEqual(['key-1', 'key-1', 'key-1']);
  });

  it('gives up after three fresh reads, and asks to come again in a second', async () => {
    current = [false, false, false, false, true];
    const error: unknown = await authenticator.authenticate(PAIR).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnavailableError);
    expect((error as ServiceUnavailableError).retryAfter).toBe(1);
    expect(steps.filter((step) => step === 'key')).toHaveLength(4);
    expect(used).toEqual([]);
    current = [false, false, false, true];
    expect(await authenticator.authenticate(PAIR)).not.toBeNull();
  });

  it('passes on that Postgres cannot be reached', async () => {
    access = new Proxy(ACCESS, {
      get() {
        throw new Error('no connection');
      },
    });
    await expect(authenticator.authenticate(PAIR)).rejects.toThrow('no connection');
  });
});
