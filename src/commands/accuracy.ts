/** `npm run accuracy -- --engine NAME FOLDER`: how well an engine transcribes recordings of which the text is known. */
import { extensions } from '../extensions.js';
import { runAccuracy } from './accuracy/accuracy-program.js';

await runAccuracy(extensions);
