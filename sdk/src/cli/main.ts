/** `vnotes`: the command line of the service. */
import { handleSignals } from './ending.js';
import { createProgram } from './program.js';

handleSignals();
await createProgram().parseAsync();
