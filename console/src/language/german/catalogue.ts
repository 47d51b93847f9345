import { ACCOUNT } from './account';
import { COMMON } from './common';
import { RECORD } from './record';
import { RECORDING } from './recording';
import { RECORDINGS } from './recordings';
import { SIGN_IN } from './sign-in';
import { WEBHOOKS } from './webhooks';

/** By the English texts. Each part has those of its pages; what several have is in `common.ts`. */
export const GERMAN = {
  ...ACCOUNT,
  ...COMMON,
  ...RECORD,
  ...RECORDING,
  ...RECORDINGS,
  ...SIGN_IN,
  ...WEBHOOKS,
};

export type German = Record<keyof typeof GERMAN, string>;
