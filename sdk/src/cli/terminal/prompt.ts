import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { usageError } from '../cli-error.js';
import { endProcess } from '../ending.js';
import { EXIT } from '../exit-codes.js';

/** Whether a person can answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks on standard error, so that the result can go to a file. */
export async function ask(question: string): Promise<string> {
  return await readLine(question, process.stderr);
}

/** Asks without showing what is typed. */
export async function askSecret(question: string): Promise<string> {
  // Before the question: the terminal itself shows what is typed until then.
  process.stdin.setRawMode(true);
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await readLine('', silent);
  process.stderr.write('\n');
  return answer;
}

/** @throws CliError where nobody can answer */
export async function confirm(question: string, option: string): Promise<boolean> {
  if (!canAsk()) throw usageError(`Nobody can be asked here. Add ${option} to confirm.`);
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `)).trim());
}

/** The first line of standard input. */
export async function lineOfStdin(): Promise<string> {
  return ((await text(process.stdin)).split('\n')[0] ?? '').trim();
}

function readLine(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  return new Promise((resolve) => {
    lines.once('SIGINT', () => {
      lines.close();
      process.stderr.write('\n');
      void endProcess(EXIT.interrupted);
    });
    lines.once('close', () => resolve(''));
    lines.question(question, (answer) => {
      resolve(answer.trim());
      lines.close();
    });
  });
}
