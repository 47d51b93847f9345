import type { ApiKeyView } from './api/types.gen.js';

/** What an API key may be allowed to do. */
export type Scope = ApiKeyView['scopes'][number];

/** A record, so that the compiler finds a scope that is missing. */
const EACH: Record<Scope, true> = {
  'recordings:read': true,
  'recordings:write': true,
  'webhooks:read': true,
  'webhooks:write': true,
  'account:read': true,
  'account:write': true,
};

/** Every scope that an API key can have. */
export const SCOPES = Object.keys(EACH) as readonly Scope[];
