import { SCOPES } from '../../access/scopes.js';
import type { KeyMaker } from '../../modules/api-keys/api-keys.service.js';

/** Keys of the operator's making have no maker among the keys, and any scope. */
export const OPERATOR: KeyMaker = { keyId: null, scopes: SCOPES };
