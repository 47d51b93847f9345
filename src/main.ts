/** Starts the service with the extensions in extensions.ts. */
import { runService } from './commands/serve.js';
import { extensions } from './extensions.js';

await runService(extensions);
