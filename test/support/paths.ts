import { join } from 'node:path';

/** The repository. */
export const ROOT = join(__dirname, '..', '..');

export const FIXTURES = join(ROOT, 'test', 'fixtures');

/** Recordings of speech, by their file names. */
export const SPEECH = join(FIXTURES, 'speech');
