/** The scopes of the core (D10). */
const CORE_SCOPES = [
  'recordings:read',
  'recordings:write',
  'webhooks:read',
  'webhooks:write',
  'account:read',
  'account:write',
] as const;

/** A scope of the core, or one that an extension registered, such as `keywords:read`. */
export type Scope = (typeof CORE_SCOPES)[number] | (string & {});

/** Every scope that an API key can have. Extensions add theirs before the application is created. */
export const SCOPES: Scope[] = [...CORE_SCOPES];

/** Registering a scope again changes nothing. */
export function registerScope(scope: Scope): void {
  if (!SCOPES.includes(scope)) SCOPES.push(scope);
}
