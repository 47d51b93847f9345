/** `npm run migrate`: brings the schema of DATABASE_URL up to date; `-- --status` only shows the migrations. */
import { extensions } from '../extensions.js';
import { runMigrate } from './migrate-program.js';

await runMigrate(extensions);
