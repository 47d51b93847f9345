import { Command, InvalidArgumentError, Option } from 'commander';
import type { Extension } from '../extension.js';

/** Reads the arguments of the process and migrates the database of DATABASE_URL, with the tables of the extensions. */
export async function runMigrate(extensions: Extension[]): Promise<void> {
  const program = new Command('migrate')
    .description('Bring the database schema up to date. Needs the environment of the service.')
    .option('--status', 'list the completed and the pending migrations and change nothing')
    .addOption(
      new Option('--wait <seconds>', 'wait so long for another process to migrate, and change nothing')
        .argParser(parseSeconds)
        .conflicts('status'),
    )
    .showHelpAfterError()
    .action(async ({ status, wait }: { status?: true; wait?: number }) => {
      // Imported only now, so that help and usage errors are quick and need no database.
      const { runMigrations, showStatus, waitForSchema } = await import('./migrate-commands.js');
      const run = wait === undefined ? (status ? showStatus : runMigrations) : waitForSchema.bind(null, wait);
      process.stdout.write(`${await run(extensions)}\n`);
    });
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

function parseSeconds(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be an integer from 1 to 99999.');
  return Number(text);
}
