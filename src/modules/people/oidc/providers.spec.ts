import { InvalidEnvironmentError } from '../../../platform/config/env.js';
import { readProviders, roleOf } from './providers.js';

const PROVIDER = {
  name: 'example',
  issuer: 'https://login.example.com',
  client_id: 'voice-notes',
  account_id: '019b8d2b-8c78-752e-bca9-6513269e0d37',
  roles: { admins: 'admin', readers: 'viewer' },
};
const read = (value: unknown) => readProviders({ oidcProviders: JSON.stringify(value) });

describe('OIDC_PROVIDERS', () => {
  it('has defaults', () => {
    expect(readProviders({ oidcProviders: null })).toEqual([]);
    expect(read([PROVIDER])).toEqual([
      {
        name: 'example',
        title: 'example',
        issuer: 'https://login.example.com',
        clientId: 'voice-notes',
        clientSecret: null,
        scope: 'openid profile email offline_access',
        accountId: PROVIDER.account_id,
        groupsClaim: 'groups',
        roles: new Map([
          ['admins', 'admin'],
          ['readers', 'viewer'],
        ]),
        defaultRole: null,
      },
    ]);
  });

  it.each([
    ['a text', 'example', 'OIDC_PROVIDERS must be a JSON array of objects'],
    ['no objects', ['example'], 'OIDC_PROVIDERS must be a JSON array of objects'],
    ['a missing field', [{ ...PROVIDER, issuer: undefined }], 'OIDC_PROVIDERS[0].issuer is required'],
    ['an unknown field', [{ ...PROVIDER, secret: 'x' }], 'OIDC_PROVIDERS[0].secret is not a field'],
    ['a name', [PROVIDER, { ...PROVIDER, name: 'A/b' }], 'OIDC_PROVIDERS[1].name must have 1 to 32 of'],
    ['http:', [{ ...PROVIDER, issuer: 'http://login.example.com' }], 'OIDC_PROVIDERS[0].issuer must be an https: URL'],
    ['no account', [{ ...PROVIDER, account_id: 'acme' }], 'OIDC_PROVIDERS[0].account_id must be the id of an account'],
    [
      'a role',
      [{ ...PROVIDER, roles: { staff: 'boss' } }],
      'OIDC_PROVIDERS[0].roles must be an object that maps groups',
    ],
    ['a default role', [{ ...PROVIDER, default_role: 'boss' }], 'OIDC_PROVIDERS[0].default_role must be one of owner'],
    ['no role at all', [{ ...PROVIDER, roles: undefined }], 'OIDC_PROVIDERS[0] must have roles or default_role'],
    ['no openid', [{ ...PROVIDER, scope: 'profile' }], 'OIDC_PROVIDERS[0].scope must be scopes with openid'],
    ['one name twice', [PROVIDER, PROVIDER], 'OIDC_PROVIDERS must not have the same name twice'],
  ])('names what is wrong with %s', (_, value, problem) => {
    expect(() => read(value)).toThrow(InvalidEnvironmentError);
    expect(() => read(value)).toThrow(problem);
  });

  it('takes a provider on this machine without TLS', () => {
    expect(read([{ ...PROVIDER, issuer: 'http://localhost:8080' }])).toHaveLength(1);
    expect(() => readProviders({ oidcProviders: '{' })).toThrow('must be a JSON array');
  });
});

describe('roleOf', () => {
  const [provider] = read([{ ...PROVIDER, default_role: 'editor' }]);
  const [strict] = read([PROVIDER]);

  it.each([
    [{ groups: ['readers', 'admins'] }, 'admin', 'admin'],
    [{ groups: ['readers'] }, 'editor', 'viewer'],
    [{ groups: 'admins' }, 'admin', 'admin'],
    [{ groups: ['constructor', 7, null] }, 'editor', null],
    [{ groups: { admins: true } }, 'editor', null],
    [{}, 'editor', null],
  ])('takes the highest of %j', (claims, role, strictRole) => {
    expect(provider && roleOf(provider, claims)).toBe(role);
    expect(strict && roleOf(strict, claims)).toBe(strictRole);
  });
});
