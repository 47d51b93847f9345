import type { ApiKey } from 'vnotes';

export type Scope = ApiKey['scopes'][number];

/** What each scope allows. */
export const SCOPES: readonly { scope: Scope; meaning: string }[] = [
  { scope: 'recordings:read', meaning: 'List, search and play recordings, and read their texts and events.' },
  {
    scope: 'recordings:write',
    meaning: 'Upload, retry, correct and delete recordings, and make tokens for end users.',
  },
  { scope: 'webhooks:read', meaning: 'See webhooks and their deliveries.' },
  { scope: 'webhooks:write', meaning: 'Create, change, test and delete webhooks, and send events again.' },
  { scope: 'account:read', meaning: 'See the account, its keys, usage, quotas and errors.' },
  { scope: 'account:write', meaning: 'Create and revoke keys, void tokens, and erase end users.' },
];
