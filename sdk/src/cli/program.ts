import { Command } from 'commander';
import { addAccountCommands } from './definitions/account-commands.js';
import { addRecordingCommands } from './definitions/recording-commands.js';
import { addWebhookCommands } from './definitions/webhook-commands.js';
import { EXIT } from './exit-codes.js';
import { VERSION } from '../http/version.js';
import { profileName } from './options/parsers.js';

const MORE = `
Exit codes:
  0 done   1 failed   2 wrong usage   3 credentials   4 not found   5 limit   6 service unavailable   130 interrupted

Environment:
  VNOTES_URL, VNOTES_KEY, VNOTES_SECRET   instead of a profile of \`vnotes login\`
  VNOTES_PROFILE                          the profile to use
  NO_COLOR                                no colours

Begin with:
  $ vnotes login
  $ vnotes upload note.ogg --wait`;

/** All commands and options. What a command does is imported when it runs, so that help comes at once. */
export function createProgram(): Command {
  const program = new Command('vnotes')
    .description('Voice notes become text: upload, search, watch and manage them.')
    .version(VERSION, '--version', 'print the version')
    .option('--json', 'print JSON and nothing else: one document, or a value on each line of what is streamed')
    .option('--profile <name>', 'profile of `vnotes login` to use', profileName)
    .option('--verbose', 'with an error: the request id and what else is known')
    .option('--no-color', 'no colours')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', MORE)
    .configureHelp({ showGlobalOptions: true });
  addRecordingCommands(program);
  addWebhookCommands(program);
  addAccountCommands(program);
  eachCommand(program, (command) => {
    command
      .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage))
      .showHelpAfterError(
        command === program ? '(vnotes --help lists the commands)' : `(see ${pathOf(command)} --help)`,
      )
      .showSuggestionAfterError()
      .configureOutput({ outputError: (text, write) => write(text.replace(/^error: (.)/, errorBeginning)) });
  });
  return program;
}

function eachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) eachCommand(child, visit);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

const errorBeginning = (_match: string, first: string) => `Error: ${first.toUpperCase()}`;
