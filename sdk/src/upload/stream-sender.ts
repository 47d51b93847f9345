import type { Answer } from '../http/answer.js';
import { Multipart } from './multipart.js';
import { randomId } from './random-id.js';
import type { UploadAttempt } from './upload-attempt.js';

/** Sends the form as a stream, so that a file is never in memory as a whole: for Node, Deno, Bun and edge runtimes. */
export async function sendAsStream(attempt: UploadAttempt): Promise<Answer> {
  const { transport, request, file, deadline } = attempt;
  const form = new Multipart(attempt.fields, file.name, `vnotes-${randomId()}`);
  const source = { failure: null as { error: unknown } | null };
  const headers: Record<string, string> = { 'Content-Type': form.contentType };
  if (file.size !== null) headers['Content-Length'] = String(form.lengthWith(file.size));
  const body = streamOf(form.around(watched(attempt, source)));
  // The type of fetch's options knows no `duplex` yet, which Node requires.
  const init = { body, headers, duplex: 'half' } as RequestInit;
  try {
    return await transport.answer(request, init, deadline);
  } catch (error) {
    // Of the file, not of the network: the next attempt would fail alike.
    if (source.failure) throw source.failure.error;
    throw error;
  }
}

/** The chunks of the file, reported as sent when the next one is asked for. */
async function* watched(
  { file, deadline, onSent }: UploadAttempt,
  source: { failure: { error: unknown } | null },
): AsyncGenerator<Uint8Array, void, undefined> {
  let sent = 0;
  const chunks = file.chunks()[Symbol.asyncIterator]();
  for (;;) {
    // The time that a live source takes is not the network's.
    deadline.pause();
    const next = await chunks.next().catch((error: unknown) => {
      source.failure = { error };
      throw error;
    });
    deadline.restart();
    if (next.done) return;
    yield next.value;
    sent += next.value.length;
    onSent(sent);
  }
}

function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
