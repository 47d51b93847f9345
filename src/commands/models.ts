/** `npm run -s models -- COMMAND [options]`: models of speech recognition, for operators. Needs no database. */
import { runModels } from './models/models-program.js';

await runModels();
