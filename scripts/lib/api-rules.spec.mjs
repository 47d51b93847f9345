import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ruleViolations } from './api-rules.mjs';
import { ROOT } from './paths.mjs';

const described = () => JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));

describe('the rules for the description of the API', () => {
  it('hold', () => {
    expect(ruleViolations(described())).toEqual([]);
  });

  it.each([
    [(document) => (document.openapi = '3.0.0'), 'openapi must be 3.1, and is 3.0.0'],
    [({ components }) => (components.schemas.Error = {}), 'no schema may be called Error: languages have such a type'],
    [
      ({ components }) => Object.assign(components.schemas.QuotaView, { oneOf: [] }),
      '/components/schemas/QuotaView: oneOf beside type or properties',
    ],
    [
      ({ components }) => Object.assign(components.schemas.QuotaView, { nullable: true }),
      '/components/schemas/QuotaView: nullable is not OpenAPI 3.1',
    ],
    [
      ({ paths }) => (paths['/v1/account'].get.responses[200].content['application/json'].schema = { oneOf: [] }),
      'get /v1/account: more than one answer',
    ],
    [
      ({ components }) => components.schemas.EventBody.oneOf.push({ $ref: '#/components/schemas/QuotaView' }),
      'EventBody: #/components/schemas/QuotaView has no kind',
    ],
    [
      ({ webhooks }) => (webhooks['webhook.test'].post.requestBody.content['application/json'].schema = {}),
      'webhook webhook.test: its body has no schema with a name',
    ],
  ])('are broken by %s', (fault, expected) => {
    const document = described();
    fault(document);
    expect(ruleViolations(document)).toEqual([expected]);
  });
});
