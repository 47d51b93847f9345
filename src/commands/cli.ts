/** `npm run -s admin -- COMMAND [options]`: accounts and keys, for operators (D30). */
import { adminProgram } from './admin-program.js';

try {
  await adminProgram().parseAsync();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  // A start that failed half-way may have left a connection open, which would keep the process running.
  process.exit(1);
}
