/** What an API key may be allowed to do (D10). */
export const SCOPES = [
  'recordings:read',
  'recordings:write',
  'webhooks:read',
  'webhooks:write',
  'account:read',
  'account:write',
] as const;

export type Scope = (typeof SCOPES)[number];
