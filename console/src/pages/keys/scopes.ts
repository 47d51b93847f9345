import type { Scope } from 'vnotes';
import { type Text } from '../../language/texts';

/** What each scope allows. */
export const SCOPES: readonly { scope: Scope; meaning: Text }[] = [
  { scope: 'recordings:read', meaning: 'List, search and play recordings, and read their transcripts and events.' },
  {
    scope: 'recordings:write',
    meaning: 'Upload, retry, correct and delete recordings, and create tokens for end users.',
  },
  { scope: 'webhooks:read', meaning: 'View webhooks and their deliveries.' },
  { scope: 'webhooks:write', meaning: 'Create, change, test and delete webhooks, and resend events.' },
  { scope: 'account:read', meaning: 'View the account, its keys, usage, quotas and errors.' },
  { scope: 'account:write', meaning: 'Create and revoke keys, void tokens, and erase end users.' },
];
