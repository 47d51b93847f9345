import type { ExecutionContext } from '@nestjs/common';
import type { AccessRule } from '../access/access.decorators.js';
import type { Principal } from '../access/principal.js';
import {
  AccountSuspendedError,
  AddressNotAllowedError,
  AuthenticationError,
  PermissionError,
} from '../platform/errors/errors.js';
import { type AccessRulesService, ScopeGuard } from './scope.guard.js';

const READ: AccessRule = { scope: 'recordings:read', alsoScopes: [], allowAccessToken: false };
const BOTH: AccessRule = { ...READ, alsoScopes: ['webhooks:write', 'account:read'] };
const UPLOAD: AccessRule = { scope: 'recordings:write', alsoScopes: [], allowAccessToken: true };
const OWN: AccessRule = { ...READ, endUserRight: 'read' };
const PUBLIC: AccessRule = { scope: null, alsoScopes: [], allowAccessToken: true };
const KEY = {
  credential: 'api_key',
  refusedAddress: null,
  suspended: false,
  scopes: ['recordings:read'],
} as unknown as Principal;
const KEY_ONLY: AccessRule = { ...READ, anyKey: true };
const PEOPLE: AccessRule = { scope: null, alsoScopes: [], allowAccessToken: false, session: true };
const PEOPLE_WHO_READ: AccessRule = { ...READ, session: true };
const SESSION = { ...KEY, credential: 'session' } as Principal;
const TOKEN = {
  credential: 'access_token',
  refusedAddress: null,
  endUserRights: [],
  suspended: false,
  scopes: [],
} as unknown as Principal;

describe('ScopeGuard (D14)', () => {
  function ask(rule: AccessRule, principal?: Principal, request: object = { method: 'GET' }): boolean {
    const rules = { of: () => rule } as unknown as AccessRulesService;
    const context = { switchToHttp: () => ({ getRequest: () => ({ ...request, principal }) }) };
    return new ScopeGuard(rules).canActivate(context as unknown as ExecutionContext);
  }

  it.each<[string, AccessRule, Principal | undefined]>([
    ['anybody to what is public', PUBLIC, undefined],
    ['a suspended account to what is public', PUBLIC, { ...KEY, suspended: true }],
    ['a key with the scope', READ, KEY],
    ['a key with all the scopes', BOTH, { ...KEY, scopes: ['account:read', 'webhooks:write', 'recordings:read'] }],
    ['a token where it is allowed', UPLOAD, TOKEN],
    ['a token with the right of an end user', OWN, { ...TOKEN, endUserRights: ['delete', 'read'] }],
    ['a key with the scope where such a token is allowed', OWN, KEY],
    ['a session with the scope', READ, SESSION],
    ['a session to what is for people, also of a suspended account', PEOPLE, { ...SESSION, suspended: true }],
    ['a session with the scope to what is for people who have it', PEOPLE_WHO_READ, SESSION],
    ['a key to what takes a key', KEY_ONLY, KEY],
    ['a key with the scope where a token is allowed', UPLOAD, { ...KEY, scopes: ['recordings:write'] }],
  ])('admits %s', (_, rule, principal) => {
    expect(ask(rule, principal)).toBe(true);
  });

  it.each<[string, object, boolean]>([
    ['reads', { method: 'GET', headers: { 'sec-fetch-site': 'cross-site' } }, true],
    ['is HEAD', { method: 'HEAD', headers: {} }, true],
    ['comes from a page of the service', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } }, true],
    ['names the origin of the service', { method: 'PUT', headers: { origin: 'https://notes.example:8443' } }, true],
    ['says nothing of where it comes from', { method: 'DELETE', headers: {} }, false],
    ['comes from another site', { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }, false],
    ['comes from another origin of the site', { method: 'POST', headers: { 'sec-fetch-site': 'same-site' } }, false],
    ['is opened by hand', { method: 'PATCH', headers: { 'sec-fetch-site': 'none' } }, false],
    ['names another origin', { method: 'POST', headers: { origin: 'https://notes.example' } }, false],
    ['names no origin', { method: 'POST', headers: { origin: 'null' } }, false],
  ])('with a session, minds a request that %s (D97)', (_, request, isAdmitted) => {
    const sent = { host: 'notes.example:8443', ...request };
    const asked = () => ask(READ, SESSION, sent);
    if (isAdmitted) expect(asked()).toBe(true);
    else expect(asked).toThrow('A session is for the pages of this service');
    expect(ask(READ, KEY, sent)).toBe(true);
    expect(ask(PUBLIC, SESSION, sent)).toBe(true);
  });

  it('refuses a session what takes a key, and a key what is for people', () => {
    expect(() => ask(PEOPLE_WHO_READ, KEY)).toThrow('it takes a session');
    expect(() => ask(PEOPLE_WHO_READ, { ...SESSION, scopes: [] })).toThrow('Your role lacks the scope');
    expect(() => ask(PEOPLE_WHO_READ, { ...SESSION, suspended: true })).toThrow(AccountSuspendedError);
    expect(() => ask(KEY_ONLY, SESSION)).toThrow('takes an API key, and no session');
    expect(() => ask(KEY_ONLY, { ...SESSION, scopes: [] })).toThrow('Your role lacks the scope recordings:read.');
    expect(() => ask(PEOPLE, KEY)).toThrow('for people who have signed in');
    expect(() => ask(PEOPLE, TOKEN)).toThrow('for people who have signed in');
    expect(() => ask(PEOPLE)).toThrow(AuthenticationError);
  });

  it('asks for credentials, then for an allowed address, then for an active account, then for the scope', () => {
    expect(() => ask(READ)).toThrow(AuthenticationError);
    const elsewhere = { ...KEY, refusedAddress: '192.0.2.1', suspended: true, scopes: [] };
    expect(() => ask(READ, elsewhere)).toThrow(AddressNotAllowedError);
    expect(() => ask(UPLOAD, elsewhere)).toThrow(AddressNotAllowedError);
    expect(ask(PUBLIC, elsewhere)).toBe(true);
    expect(() => ask(READ, { ...KEY, suspended: true, scopes: [] })).toThrow(AccountSuspendedError);
    expect(() => ask(UPLOAD, { ...TOKEN, suspended: true })).toThrow(AccountSuspendedError);
    expect(() => ask(READ, { ...KEY, scopes: [] })).toThrow(PermissionError);
  });

  it.each<[string, AccessRule, Principal, string, string]>([
    ['the scope', READ, { ...KEY, scopes: ['recordings:write'] }, 'recordings:read', 'This API key lacks the scope'],
    ['the first of several that are missing', BOTH, KEY, 'webhooks:write', 'This API key lacks the scope'],
    ['the last of several', BOTH, { ...KEY, scopes: ['recordings:read', 'webhooks:write'] }, 'account:read', 'lacks'],
    ['the scope, for a key where a token is allowed', UPLOAD, KEY, 'recordings:write', 'This API key lacks the scope'],
    ['what a token with rights is for', READ, { ...TOKEN, endUserRights: ['read'] }, 'recordings:read', 'and to read'],
    ['the right that a token lacks', OWN, { ...TOKEN, endUserRights: ['delete'] }, 'recordings:read', 'and to delete'],
    [
      'what tokens are for',
      READ,
      { ...TOKEN, scopes: ['recordings:read'] },
      'recordings:read',
      'only be used to upload',
    ],
  ])('names %s', (_, rule, principal, scope, message) => {
    let refusal: unknown;
    try {
      ask(rule, principal);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(PermissionError);
    expect((refusal as PermissionError).details).toEqual({ required_scope: scope });
    expect((refusal as PermissionError).message).toContain(message);
  });
});
