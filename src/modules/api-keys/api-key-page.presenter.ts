import { PageFields, pageFields, type PageQuery, type PageResult } from '../../platform/http/page.js';
import type { ApiKey } from './api-key.entity.js';
import { ApiKeyView } from './api-key.view.js';
import { presentApiKey } from './api-key.presenter.js';

export class ApiKeyPage extends PageFields {
  api_keys: ApiKeyView[];
}

export function presentApiKeyPage(query: PageQuery, found: PageResult<ApiKey>): ApiKeyPage {
  return { api_keys: found.items.map(presentApiKey), ...pageFields('/v1/account/api-keys', query, found) };
}
