import type { Command } from 'commander';

/** What can follow a command on the command line. */
export interface CommandWords {
  /** `webhooks create`; empty for the program itself. */
  path: string;
  commands: { name: string; description: string }[];
  options: OptionWords[];
  /** Whether its arguments are files. */
  takesFiles: boolean;
  /** Fixed values of its argument. */
  values: string[];
}

export interface OptionWords {
  /** `-w`, `--wait`. */
  names: string[];
  description: string;
  takesValue: boolean;
  values: string[];
  takesFile: boolean;
}

const FILE_ARGUMENTS = new Set(['file', 'folder']);

/** Every command with its options, those of all commands included. */
export function wordsOf(program: Command): CommandWords[] {
  const globals = optionsOf(program).filter(({ names }) => !names.includes('--version'));
  const all = (command: Command, path: string[]): CommandWords[] => [
    {
      path: path.join(' '),
      commands: command.commands.map((child) => ({ name: child.name(), description: child.description() })),
      options: path.length === 0 ? optionsOf(command) : [...optionsOf(command), ...globals],
      takesFiles: command.registeredArguments.some((argument) => argument.name() === 'file'),
      values: command.name() === 'completion' ? ['bash', 'zsh'] : [],
    },
    ...command.commands.flatMap((child) => all(child, [...path, child.name()])),
  ];
  return all(program, []);
}

function optionsOf(command: Command): OptionWords[] {
  const help = {
    names: ['-h', '--help'],
    description: 'print the help',
    takesValue: false,
    values: [],
    takesFile: false,
  };
  const own = command.options.map((option) => ({
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    takesValue: option.required || option.optional,
    values: option.argChoices ?? [],
    takesFile: FILE_ARGUMENTS.has(/<(\w+)>/.exec(option.flags)?.[1] ?? ''),
  }));
  return [...own, help];
}
