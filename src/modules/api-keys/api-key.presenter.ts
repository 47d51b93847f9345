import { creationTime, resourceTime } from '../../platform/http/timestamps.js';
import { type ApiKey, warningsOf } from './api-key.entity.js';
// Types only: the command line presents them as well, and @nestjs/swagger would be half of all that it loads.
import type { ApiKeyInclusion, ApiKeyView, CreatedApiKeyView, SingleApiKeyView } from './api-keys.dto.js';

const uriOf = (key: ApiKey): string => `/v1/account/api-keys/${key.id}`;

interface Inclusion {
  include?: ApiKeyInclusion;
}

export function presentApiKey(key: ApiKey, { include }: Inclusion): ApiKeyView {
  return {
    id: key.id,
    tenant_id: key.accountId,
    name: key.name,
    key_prefix: key.keyPrefix,
    scopes: key.scopes,
    status: key.status,
    last_used_at: key.lastUsedAt && resourceTime(key.lastUsedAt),
    usage_count: key.usageCount,
    expires_at: key.expiresAt && resourceTime(key.expiresAt),
    created_at: resourceTime(key.createdAt),
    updated_at: resourceTime(key.updatedAt),
    uri: uriOf(key),
    ...(key.allowedAddresses && { allowed_addresses: key.allowedAddresses }),
    ...(include === 'warnings' && { warnings: warningsOf(key) }),
    ...(include === 'creator' && { created_by_person: key.createdByPerson }),
  };
}

export function presentSingleApiKey(key: ApiKey, inclusion: Inclusion = {}): SingleApiKeyView {
  return { ...presentApiKey(key, inclusion), description: key.description, created_by: key.createdBy };
}

export function presentCreatedApiKey(key: ApiKey, secret: string): CreatedApiKeyView {
  return {
    id: key.id,
    name: key.name,
    key_prefix: key.keyPrefix,
    api_key: key.key,
    api_secret: secret,
    scopes: key.scopes,
    status: key.status,
    created_at: creationTime(key.createdAt),
    uri: uriOf(key),
    code: 'API_KEY_CREATED',
  };
}
