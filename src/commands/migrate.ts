/** `npm run migrate`: brings the schema of DATABASE_URL up to date; `-- --status` only shows the migrations. */
import { Command } from 'commander';

const program = new Command('migrate')
  .description('Bring the database schema up to date. Needs the environment of the service.')
  .option('--status', 'list the completed and the pending migrations and change nothing')
  .showHelpAfterError()
  .action(async ({ status }: { status?: true }) => {
    // Imported only now, so that help and usage errors are quick and need no database.
    const { runMigrations, showStatus } = await import('./migrate-commands.js');
    process.stdout.write(`${await (status ? showStatus() : runMigrations())}\n`);
  });

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
