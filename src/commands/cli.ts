/** `npm run -s admin -- COMMAND [options]`: accounts and keys, for operators (D30). */
import { extensions } from '../extensions.js';
import { runAdmin } from './admin/admin-program.js';

await runAdmin(extensions);
