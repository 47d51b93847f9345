import { Command, InvalidArgumentError } from 'commander';
import { MODEL_NAME, MODEL_NAME_RULE } from '../../modules/models/installed-models.js';
import { formatOutput } from '../admin/format-output.js';
import type { CommandResult } from './models-commands.js';

/** Runs a command and returns what it prints. */
type Action<Options> = (options: Options) => Promise<CommandResult>;

const JSON_OPTION = ['--json', 'print one JSON value and nothing else'] as const;
const NAME = ['<name>', 'name of the model', modelName] as const;
const USE = ['--use', 'select it, too'] as const;

/** Reads the arguments of the process and runs the command that they name. */
export async function runModels(): Promise<void> {
  try {
    await modelsProgram().parseAsync();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(isInterruption(error) ? 130 : 1);
  }
}

/**
 * The commands and their options. What they do is imported only after the arguments were parsed, so that help and usage
 * errors are quick.
 */
function modelsProgram(): Command {
  const program = new Command('models')
    .description(
      'Download and select models of speech recognition, for the engine sherpa, streaming ones for words while somebody speaks, and those that tell speakers apart. Reads MODELS_FOLDER, MODELS_URL, HF_TOKEN, ' +
        'HTTPS_PROXY, HTTP_PROXY and NO_PROXY. A worker reads the selection when it starts.',
    )
    .showHelpAfterError();

  program
    .command('list')
    .description('show the installed models and the catalogue')
    .option(...JSON_OPTION)
    .action(run(async () => (await import('./models-commands.js')).listModels));

  program
    .command('pull')
    .description('download a model of the catalogue; an interrupted download continues')
    .argument(...NAME)
    .option(...USE)
    .option('--update', 'replace an installed model if the source has another one')
    .option('--revision <revision>', 'commit, branch or tag of the source (default: that of the catalogue)', revision)
    .option(...JSON_OPTION)
    .action(runWithArgument(async () => (await import('./pull-command.js')).pull));
  addFolderCommands(program);
  return program;
}

/** Those that use no network. */
function addFolderCommands(program: Command): void {
  program
    .command('add')
    .description('copy a model from a folder, such as one that was downloaded on another machine')
    .argument('<folder>', 'folder with the files of one model')
    .option('--name <name>', 'name of the model (default: that of the folder)', modelName)
    .option('--languages <list>', 'languages or codes, separated by commas (default: what its files say)')
    .option(...USE)
    .option(...JSON_OPTION)
    .action(runWithArgument(async () => (await import('./models-commands.js')).add));

  program
    .command('verify')
    .description('compare the files with their digests; exit code 1 if any differs')
    .argument('[name]', 'name of the model (default: all)', modelName)
    .option(...JSON_OPTION)
    .action(runWithArgument(async () => (await import('./models-commands.js')).verify));

  program
    .command('use')
    .description('select the model that workers use from their next start on')
    .argument(...NAME)
    .option(...JSON_OPTION)
    .action(runWithArgument(async () => (await import('./models-commands.js')).select));

  program
    .command('remove')
    .description('delete the files of a model')
    .argument(...NAME)
    .option('--force', 'also if it is selected')
    .option(...JSON_OPTION)
    .action(runWithArgument(async () => (await import('./models-commands.js')).remove));
}

function run<Options>(load: () => Promise<Action<Options>>) {
  return async (options: Options & { json?: true }): Promise<void> => {
    const { value, text, exitCode = 0 } = await (await load())(options);
    const shown = typeof text === 'string' ? text : formatOutput(text);
    process.stdout.write(`${options.json ? JSON.stringify(value) : shown}\n`);
    process.exitCode = exitCode;
  };
}

/** As `run`, for a command with an argument, which becomes the option `target`. */
function runWithArgument<Options>(load: () => Promise<Action<Options & { target: string }>>) {
  const action = run(load);
  return (target: string, options: Options & { json?: true }): Promise<void> => action({ ...options, target });
}

function modelName(value: string): string {
  if (!MODEL_NAME.test(value)) throw new InvalidArgumentError(`It must be ${MODEL_NAME_RULE}.`);
  return value;
}

function revision(value: string): string {
  const valid = /^[\w.-]+(\/[\w.-]+)*$/.test(value) && value.length <= 100;
  if (!valid) throw new InvalidArgumentError('It must be a commit, a branch or a tag.');
  return value;
}

function isInterruption(error: unknown): boolean {
  return error instanceof Error && error.name === 'InterruptedError';
}
