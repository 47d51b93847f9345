import type { INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { ROLES } from '../../access/roles.js';
import { SCOPES } from '../../access/scopes.js';
import { type Extension, registerExtensions } from '../../extension.js';
import { ACCOUNT_STATUSES, DEFAULT_PLAN, planNames } from '../../access/plans.js';
import { formatOutput } from './format-output.js';
import {
  choice,
  choices,
  count,
  day,
  email,
  engines,
  futureTime,
  networks,
  quota,
  retention,
  text,
} from './option-parsers.js';

/** Runs a command on the application and returns what it prints, as one JSON value. */
type Action<Options> = (app: INestApplicationContext, options: Options) => Promise<object>;

/** What a command does, loaded only when it runs. */
type Run = <Options>(load: () => Promise<Action<Options>>) => (options: Options & { json?: true }) => Promise<void>;

const NAME = ['--name <text>', 'name of the account', text(200)] as const;
const EMAIL = ['--email <address>', 'contact address', email] as const;
const RATE_LIMIT = [
  '--rate-limit <number>',
  'requests a minute, on a plan with limits of its own such as enterprise',
  count,
] as const;
const BURST_LIMIT = ['--burst-limit <number>', 'requests at once, on such a plan', count] as const;
const QUOTA = 'unlimited, or plan for that of the plan';
const ACCOUNT = ['--account <id>', 'id of the account', text(64)] as const;

/** Reads the arguments of the process and runs the command that they name, with the scopes and plans of extensions. */
export async function runAdmin(extensions: Extension[]): Promise<void> {
  try {
    await adminProgram(extensions).parseAsync();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    // A start that failed half-way may have left a connection open, which would keep the process running.
    process.exit(1);
  }
}

/**
 * The commands and their options. The application is imported only after the arguments were parsed, so that help and
 * usage errors are quick and need no database.
 */
function adminProgram(extensions: Extension[]): Command {
  registerExtensions(extensions);
  const run: Run = (load) => runWith(extensions, load);
  const program = new Command('admin')
    .description('Manage accounts and API keys. Needs the environment of the service.')
    .showHelpAfterError()
    // Values stay out of error messages: an e-mail address must not reach a log.
    .configureOutput({ outputError: (message, write) => write(message.replace(/ argument '[^]*' is invalid\./, ':')) });

  addAccountCommands(program, run, extensions);
  command(program, 'account:purge', 'remove an account with all its audio and rows, for ever')
    .requiredOption(...ACCOUNT)
    .option('--yes', 'suspend the account first if it is active')
    .option('--without-audio', 'remove the rows although storage has none of the audio')
    .action(run(async () => (await import('./purge-account.js')).purgeAccount(extensions)));
  command(
    program,
    'account:verify-closed',
    'count what is left of a removed account; exit code 1 if that is not nothing',
  )
    .requiredOption(...ACCOUNT)
    .action(run(async () => (await import('./purge-account.js')).verifyClosed(extensions)));
  command(program, 'account:import', 'read an export of an account into this installation')
    .requiredOption('--file <path>', 'the archive', text(4096))
    .action(run(async () => (await import('./import-account.js')).importAccount(extensions)));
  addKeyCommands(program, run);
  addPersonCommands(program, run);

  addCounterCommands(program, run);
  command(program, 'audit:verify', 'follow the audit log; exit code 1 if an entry was changed or is missing')
    .option('--account <id>', 'only this account (default: all)', text(64))
    .action(run(async () => (await import('./audit-commands.js')).verifyAudit));
  addRetranscribeCommand(program, run);
  addBackupCommands(program, run, extensions);
  command(
    program,
    'secrets:rotate',
    'encrypt webhook secrets and wrap the keys of audio with the current SECRET_KEY and STORAGE_KEY',
  ).action(run(async () => (await import('./maintenance-commands.js')).rotateSecrets));
  command(
    program,
    'storage:encrypt',
    'encrypt stored audio that is plain or under an earlier key, while the service runs; exit code 2 if some is left',
  )
    .option('--account <id>', 'only this account and its test account (default: all)', text(64))
    .option('--new-key', 'first make a new key for each account')
    .option('--decrypt', 'the reverse, with STORAGE_ENCRYPTION=off: store encrypted audio plain')
    .option('--rate <number>', 'at most so many megabytes a second (default: 20)', count)
    .action(run(async () => (await import('./encrypt-objects.js')).encryptObjects(extensions)));
  return program;
}

function addAccountCommands(program: Command, run: Run, extensions: Extension[]): void {
  const plan = ['--plan <plan>', planNames().join(', '), choice(planNames())] as const;

  command(program, 'account:create', 'create an account and its first API key, which has every scope')
    .requiredOption(...NAME)
    .requiredOption(...EMAIL)
    .option(plan[0], `${plan[1]} (default: ${DEFAULT_PLAN})`, plan[2])
    .option(...RATE_LIMIT)
    .option(...BURST_LIMIT)
    .option('--allow-duplicate-email', 'create the account although another one has this e-mail address')
    .action(run(async () => (await import('./account-commands.js')).createAccount));

  command(program, 'account:update', 'change the given fields of an account')
    .requiredOption(...ACCOUNT)
    .option(...NAME)
    .option(...EMAIL)
    .option(...plan)
    .option('--status <status>', ACCOUNT_STATUSES.join(', '), choice(ACCOUNT_STATUSES))
    .option(...RATE_LIMIT)
    .option(...BURST_LIMIT)
    .option('--stored-bytes <quota>', `bytes of audio in storage, ${QUOTA}`, quota)
    .option('--audio-seconds-per-month <quota>', `audio uploaded in a month, ${QUOTA}`, quota)
    .option('--queued-audio-seconds <quota>', `audio that waits for its transcription, ${QUOTA}`, quota)
    .option('--concurrent-uploads <quota>', `uploads at the same time, ${QUOTA}`, quota)
    .option('--retain-audio-days <days>', 'days that the audio of new recordings is kept, or unlimited', retention)
    .option('--retain-text-days <days>', 'days that new recordings are kept at all, or unlimited', retention)
    .option(
      '--delete-audio-after <state>',
      'transcribed deletes the audio of new recordings once they are, never does not',
      choice(['transcribed', 'never']),
    )
    .option(
      '--engines <list>',
      'engines in their order, separated by commas or as JSON; default for those of the service',
      engines,
    )
    .action(run(async () => (await import('./account-commands.js')).updateAccount(extensions)));

  command(program, 'account:suspend', 'refuse the requests of an account; its recordings and deliveries wait')
    .requiredOption(...ACCOUNT)
    .option('--finish-queue', 'transcribe and deliver what was accepted before')
    .action(run(async () => (await import('./account-commands.js')).suspendAccount));

  command(program, 'account:list', 'list all accounts').action(
    run(async () => (await import('./account-commands.js')).listAccounts),
  );
}

function addPersonCommands(program: Command, run: Run): void {
  command(program, 'person:link', 'print a link that signs in a member of an account, once and within a day')
    .requiredOption(...ACCOUNT)
    .requiredOption('--email <address>', 'e-mail address of the member, who is added if there is none', email)
    .option('--role <role>', `${ROLES.join(', ')} (default: owner)`, choice(ROLES))
    .option('--name <text>', 'name of a new person (default: the e-mail address)', text(100))
    .action(run(async () => (await import('./person-commands.js')).createLink));
  command(program, 'mail:test', 'send one mail through SMTP_URL, to try it')
    .requiredOption('--to <address>', 'who gets it', email)
    .action(run(async () => (await import('./person-commands.js')).testMail));
}

function addCounterCommands(program: Command, run: Run): void {
  const account = ['--account <id>', 'only this account (default: all)', text(64)] as const;

  command(program, 'counters:verify', 'compare the usage counters with the recordings; exit code 1 if any differs')
    .option(...account)
    .action(run(async () => (await import('./maintenance-commands.js')).verifyCounters));

  command(program, 'counters:rebuild', 'correct the usage counters; uploads can go on')
    .option(...account)
    .action(run(async () => (await import('./maintenance-commands.js')).rebuildCounters));
}

function addRetranscribeCommand(program: Command, run: Run): void {
  command(program, 'retranscribe', 'transcribe recordings of other models again, behind all new ones')
    .option('--account <id>', 'recordings of this account', text(64))
    .option('--all', 'recordings of every account')
    .option('--model-not <name>', 'only transcriptions of other models than this one', text(200))
    .option('--since <day>', 'only recordings uploaded on this UTC day or later, such as 2026-01-31', day)
    .option('--rate <number>', 'at most so many recordings a minute (default: as many as the workers can)', count)
    .option('--quiet', 'do not announce the new texts by events and webhooks')
    .option('--detach', 'do not wait for the end')
    .option('--status', 'show how far the commands given before have come')
    .option('--cancel', 'end those in progress; what is being transcribed is finished')
    .action(run(async () => (await import('./maintenance-commands.js')).retranscribe));
}

function addBackupCommands(program: Command, run: Run, extensions: Extension[]): void {
  const place = ['--place <place>', 'folder or s3://bucket/prefix (default: BACKUP_DESTINATION)', text(1000)] as const;
  const backup = ['--backup <id>', 'id of the backup (default: the newest)', text(64)] as const;
  const commands = () => import('./backup-commands.js');

  command(
    program,
    'backup',
    'store the database and new objects while the service runs; exit code 2 if some are missing',
  )
    .option(...place)
    .option('--keep <number>', 'backups to keep, this one included (default: all)', count)
    .option('--full', 'copy all objects, those too that the last backup has')
    .option('--only-erasures', 'store only what was erased since, for later restores')
    .option('--allow-missing', 'go on although the storage has none of the objects')
    .action(run(async () => (await commands()).makeBackup(extensions)));
  command(program, 'backup:list', 'list the backups, the newest first')
    .option(...place)
    .action(run(async () => (await commands()).listBackups));
  command(program, 'backup:verify', 'read a backup and compare all checksums; exit code 1 if anything is damaged')
    .option(...place)
    .option(...backup)
    .action(run(async () => (await commands()).verifyBackedUp));
  command(program, 'restore', 'restore a backup into an empty database and an empty storage')
    .option(...place)
    .option(...backup)
    .option('--continue', 'take the objects of a restore that was interrupted')
    .option('--allow-damaged', 'restore without the objects that are damaged; exit code 2 if there are any')
    .action(async (options: Parameters<Awaited<ReturnType<typeof commands>>['restoreBackup']>[1] & { json?: true }) => {
      print(await (await commands()).restoreBackup(extensions, options), options);
    });
}

function addKeyCommands(program: Command, run: Run): void {
  command(program, 'key:create', 'create an API key')
    .requiredOption(...ACCOUNT)
    .option('--name <text>', 'name of the key', text(100))
    .option('--scopes <list>', `separated by commas: ${SCOPES.join(', ')} (default: all)`, choices(SCOPES))
    .option('--expires-at <time>', 'such as 2030-01-31T12:00:00Z (default: never)', futureTime)
    .option('--allow <networks>', 'CIDRs from which it may be used, separated by commas (default: any)', networks)
    .option('--mode <mode>', 'live, or test for a test key (default: live)', choice(['live', 'test']))
    .action(run(async () => (await import('./account-commands.js')).createKey));

  command(program, 'key:list', 'list the API keys of an account that are not revoked')
    .requiredOption(...ACCOUNT)
    .action(run(async () => (await import('./account-commands.js')).listKeys));

  command(program, 'key:revoke', 'revoke an API key')
    .requiredOption('--key <id>', 'id of the key', text(64))
    .option('--descendants', 'also revoke the keys that it created, those that they created, and so on')
    .action(run(async () => (await import('./account-commands.js')).revokeKey));
}

function command(program: Command, name: string, description: string): Command {
  return program.command(name).description(description).option('--json', 'print one JSON value and nothing else');
}

function runWith<Options>(extensions: Extension[], load: () => Promise<Action<Options>>) {
  return async (options: Options & { json?: true }): Promise<void> => {
    const [{ withApp }, action] = await Promise.all([import('./admin-context.js'), load()]);
    const result = await withApp(extensions, (app) => action(app, options));
    print(result, options);
  };
}

function print(result: object, { json }: { json?: true }): void {
  process.stdout.write(`${json ? JSON.stringify(result) : formatOutput(result)}\n`);
}
