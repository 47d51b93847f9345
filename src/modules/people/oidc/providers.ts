import { type Role, ROLES } from '../../../access/roles.js';
import { type Env, InvalidEnvironmentError } from '../../../platform/config/env.js';
import { LOOPBACK } from '../../../platform/config/env-reader.js';
import { isResourceId } from '../../../platform/database/find-or-fail.js';

const VARIABLE = 'OIDC_PROVIDERS';
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
/** `offline_access` asks for the refresh token by which a session is confirmed. */
const SCOPE = 'openid profile email offline_access';

/** An OpenID provider whose people may sign in to one account. */
export interface OidcProvider {
  /** In the paths of its sign-in. */
  name: string;
  /** What the button says. */
  title: string;
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  scope: string;
  accountId: string;
  /** The claim that has the groups of a person. */
  groupsClaim: string;
  /** The role of each group's members; the highest counts. */
  roles: ReadonlyMap<string, Role>;
  /** Of people without such a group; null keeps them out. */
  defaultRole: Role | null;
}

/** Every field of a provider in the variable, in snake case, with its rule. */
const FIELDS: Record<string, { isValid: (value: unknown) => boolean; rule: string; isRequired?: true }> = {
  name: {
    isValid: (value) => isText(value) && NAME.test(value),
    rule: 'must have 1 to 32 of the characters a-z, 0-9 and -',
    isRequired: true,
  },
  title: { isValid: isText, rule: 'must be a text' },
  issuer: { isValid: isIssuer, rule: 'must be an https: URL', isRequired: true },
  client_id: { isValid: isText, rule: 'must be a text', isRequired: true },
  client_secret: { isValid: isText, rule: 'must be a text' },
  scope: {
    isValid: (value) => isText(value) && value.split(' ').includes('openid'),
    rule: 'must be scopes with openid among them, separated by spaces',
  },
  account_id: {
    isValid: (value) => isText(value) && isResourceId(value),
    rule: 'must be the id of an account',
    isRequired: true,
  },
  groups_claim: { isValid: isText, rule: 'must be the name of a claim' },
  roles: {
    isValid: (value) => isObject(value) && Object.values(value).every(isRole),
    rule: `must be an object that maps groups to ${ROLES.join(', ')}`,
  },
  default_role: { isValid: isRole, rule: `must be one of ${ROLES.join(', ')}` },
};

/** @throws InvalidEnvironmentError that names each broken field */
export function readProviders({ oidcProviders }: Pick<Env, 'oidcProviders'>): readonly OidcProvider[] {
  if (oidcProviders === null) return [];
  const items = parse(oidcProviders);
  const problems = items === null ? [`${VARIABLE} must be a JSON array of objects`] : items.flatMap(problemsOf);
  const providers = problems.length > 0 ? [] : (items ?? []).map(toProvider);
  const names = new Set(providers.map(({ name }) => name));
  if (names.size < providers.length) problems.push(`${VARIABLE} must not have the same name twice`);
  if (problems.length > 0) throw new InvalidEnvironmentError(problems);
  return providers;
}

function parse(text: string): Record<string, unknown>[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isObject) ? value : null;
  } catch {
    return null;
  }
}

function problemsOf(item: Record<string, unknown>, index: number): string[] {
  const at = `${VARIABLE}[${index}]`;
  const unknown = Object.keys(item).filter((field) => !Object.hasOwn(FIELDS, field));
  const broken = Object.entries(FIELDS).flatMap(([field, { isValid, rule, isRequired }]) => {
    if (item[field] === undefined) return isRequired ? [`${at}.${field} is required`] : [];
    return isValid(item[field]) ? [] : [`${at}.${field} ${rule}`];
  });
  const admitsNobody = item['roles'] === undefined && item['default_role'] === undefined;
  return [
    ...unknown.map((field) => `${at}.${field} is not a field`),
    ...broken,
    ...(admitsNobody ? [`${at} must have roles or default_role, or nobody can sign in`] : []),
  ];
}

function toProvider(item: Record<string, unknown>): OidcProvider {
  const text = (field: string): string | undefined => item[field] as string | undefined;
  const name = text('name') as string;
  return {
    name,
    title: text('title') ?? name,
    issuer: text('issuer') as string,
    clientId: text('client_id') as string,
    clientSecret: text('client_secret') ?? null,
    scope: text('scope') ?? SCOPE,
    accountId: text('account_id') as string,
    groupsClaim: text('groups_claim') ?? 'groups',
    roles: new Map(Object.entries((item['roles'] ?? {}) as Record<string, Role>)),
    defaultRole: (text('default_role') as Role | undefined) ?? null,
  };
}

/** What somebody with these claims is in the provider's account; null for a stranger. */
export function roleOf(
  { groupsClaim, roles, defaultRole }: OidcProvider,
  claims: Record<string, unknown>,
): Role | null {
  const claim = claims[groupsClaim];
  const groups: unknown[] = Array.isArray(claim) ? claim : [claim];
  const held = new Set([...groups.map((group) => roles.get(String(group))), defaultRole]);
  return ROLES.find((role) => held.has(role)) ?? null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim().length > 0 && value.length <= 500;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRole(value: unknown): value is Role {
  return ROLES.some((role) => role === value);
}

/** Only a provider on this machine may do without TLS. */
function isIssuer(value: unknown): boolean {
  if (!isText(value) || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname));
}
