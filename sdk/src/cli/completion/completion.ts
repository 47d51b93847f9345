import type { Command } from 'commander';
import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { bashScript } from './bash-script.js';
import { wordsOf } from './completion-words.js';
import { zshScript } from './zsh-script.js';

const SHELLS: Record<string, (words: ReturnType<typeof wordsOf>) => string> = { bash: bashScript, zsh: zshScript };

export function printCompletion(program: Command) {
  return (context: Context, _options: object, shell: string): Promise<void> => {
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (!script) throw usageError(`${shell} is not supported. Use bash or zsh.`);
    context.output.raw(script(wordsOf(program)));
    return Promise.resolve();
  };
}
