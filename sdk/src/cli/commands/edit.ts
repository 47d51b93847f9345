import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { oneLine } from '../terminal/text-width.js';

interface EditOptions {
  /** False: as its file. */
  title?: string | false;
  tag?: Record<string, string>;
  /** False: none. */
  tags: boolean;
}

export async function editRecording(context: Context, { title, tag, tags }: EditOptions, id: string): Promise<void> {
  if (tag && !tags) throw usageError('Give --tag or --no-tags, not both.');
  const changes = { title: title === false ? null : title, tags: tags ? tag : null };
  if (changes.title === undefined && changes.tags === undefined) {
    throw usageError('Say what to change: --title, --no-title, --tag or --no-tags.');
  }
  const client = await context.client();
  const recording = await client.recordings.update(id, changes);
  context.output.print(`${recording.id}  ${oneLine(recording.title)}`);
  context.output.document(recording);
}
