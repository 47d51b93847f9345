import { Command } from 'commander';
import type { Extension } from '../extension.js';

/** Reads the arguments of the process and migrates the database of DATABASE_URL, with the tables of the extensions. */
export async function runMigrate(extensions: Extension[]): Promise<void> {
  const program = new Command('migrate')
    .description('Bring the database schema up to date. Needs the environment of the service.')
    .option('--status', 'list the completed and the pending migrations and change nothing')
    .showHelpAfterError()
    .action(async ({ status }: { status?: true }) => {
      // Imported only now, so that help and usage errors are quick and need no database.
      const { runMigrations, showStatus } = await import('./migrate-commands.js');
      process.stdout.write(`${await (status ? showStatus(extensions) : runMigrations(extensions))}\n`);
    });
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
