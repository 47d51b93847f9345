import type { Context } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { explain } from '../explain-error.js';
import { count } from '../terminal/format.js';
import { confirm } from '../terminal/prompt.js';

export async function deleteRecordings(context: Context, { yes }: { yes?: boolean }, ids: string[]): Promise<ExitCode> {
  const client = await context.client();
  const what = `Delete ${count(ids.length, 'recording')} with audio and text, for ever?`;
  return await deleteEach(context, ids, yes ? null : what, (id) => client.recordings.delete(id));
}

const WORDS = { done: 'deleted', refused: 'Nothing was deleted.' };

/** Goes on after one that cannot be deleted. @param question null when nobody needs to be asked */
export async function deleteEach(
  context: Context,
  ids: readonly string[],
  question: string | null,
  remove: (id: string) => Promise<void>,
  words = WORDS,
): Promise<ExitCode> {
  const { output } = context;
  if (question !== null && !(await confirm(question, '--yes'))) {
    output.note(words.refused);
    return EXIT.failure;
  }
  const deleted: string[] = [];
  let worst: ExitCode = EXIT.ok;
  for (const id of new Set(ids)) {
    try {
      await remove(id);
      deleted.push(id);
      output.print(`${id}  ${words.done}`);
    } catch (error) {
      const { message, exitCode } = explain(error);
      output.error(`${id}: ${message}`);
      worst = worst === EXIT.ok || worst === exitCode ? exitCode : EXIT.failure;
      // What the others would meet, too.
      if (exitCode === EXIT.credentials || exitCode === EXIT.unavailable) break;
    }
  }
  output.document({ [words.done]: deleted });
  return worst;
}
