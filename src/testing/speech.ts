import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Recordings of speech. The package holds one of them, `go-forward-ten-meters.wav`. */
export const SPEECH = fileURLToPath(new URL('../../test/fixtures/speech', import.meta.url));

/** The bytes of a recording of speech. */
export const speech = (name: string): Promise<Buffer> => readFile(join(SPEECH, name));
