import type { Command } from 'commander';
import type { Context, GlobalOptions } from '../context.js';
import { endProcess } from '../ending.js';
import { EXIT, type ExitCode } from '../exit-codes.js';

/** @returns the exit code; 0 when it says nothing */
// oxlint-disable-next-line typescript/no-explicit-any -- options and arguments are those of its definition
type Action = (context: Context, options: any, ...args: any[]) => Promise<ExitCode | void>;

/** Runs what `load` imports with the arguments of the command, and tells an error in a sentence. */
export function runAction(load: () => Promise<Action>) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const options = command.optsWithGlobals<GlobalOptions>();
    const { Context: CommandContext } = await import('../context.js');
    const context = new CommandContext(options);
    try {
      const action = await load();
      await endProcess((await action(context, options, ...command.processedArgs)) ?? EXIT.ok);
    } catch (error) {
      const { detailsOf, explain } = await import('../explain-error.js');
      const { message, exitCode } = explain(error);
      context.output.error(message);
      if (options.verbose) for (const line of detailsOf(error)) process.stderr.write(`${line}\n`);
      await endProcess(exitCode);
    }
  };
}

/** Examples at the end of a command's help. */
export function examples(...lines: string[]): string {
  return `\nExample${lines.length > 1 ? 's' : ''}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
