import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';

interface HoldOptions {
  reason?: string;
  release?: boolean;
}

export async function holdRecording(context: Context, { reason, release }: HoldOptions, id: string): Promise<void> {
  if ((reason === undefined) !== Boolean(release)) throw usageError('Give --reason or --release.');
  const { output } = context;
  const client = await context.client();
  if (reason === undefined) {
    await client.recordings.releaseHold(id);
    output.print(`${id}  released`);
    output.document({ released: id });
  } else {
    const hold = await client.recordings.hold(id, reason);
    output.print(`${id}  on hold`);
    output.document(hold);
  }
}
