import { SCOPES } from '../../access/scopes.js';
import type { KeyCreator } from '../../modules/api-keys/api-keys.service.js';

/** Keys that the operator creates have no key as their creator, and may have any scope. */
export const OPERATOR: KeyCreator = { keyId: null, scopes: SCOPES };
