import { join } from 'node:path';

/** The repository. */
export const ROOT = join(__dirname, '..', '..');

export const FIXTURES = join(ROOT, 'test', 'fixtures');
