// What the package must do in every runtime: Node, Deno, Bun and browsers. Plain JavaScript, as its users write it.
import { isApiError, verifyWebhook, VoiceNotes, wordsOf } from 'vnotes';

/**
 * @param {{ url: string, key: string, secret: string, audio: Uint8Array, path: string | null, delivery: {
 *   body: string, headers: Record<string, string>, secret: string } }} setup `path` of the audio, where there are files
 * @returns {Promise<Record<string, string>>} by step: ok, or what went wrong
 */
export async function runSteps({ url, key, secret, audio, path, delivery }) {
  const client = new VoiceNotes({ baseUrl: url, key, secret });
  const results = {};
  const step = async (name, work) => {
    try {
      const isRight = await work();
      results[name] = isRight ? 'ok' : 'wrong result';
    } catch (error) {
      results[name] = `${error?.name}: ${error?.message} ${error?.cause ?? ''}`;
    }
  };
  let id = '';
  await step('stream and wait', async () => {
    const stop = new AbortController();
    let seen = false;
    const opened = new Promise((resolve) => {
      void (async () => {
        for await (const { event } of client.events.stream({ signal: stop.signal, onState: resolve })) {
          seen ||= event === 'recording.transcribed';
        }
      })();
    });
    await opened;
    const progress = [];
    const file = new File([audio], 'nöte.wav');
    const onProgress = ({ sent }) => progress.push(sent);
    const recording = await client.recordings.uploadAndWait(file, { onProgress, tags: { a: 'ü' } });
    id = recording.id;
    for (let n = 0; n < 50 && !seen; n += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    stop.abort();
    const grows = progress.every((sent, i) => i === 0 || sent > progress[i - 1]);
    const isWhole = progress.at(-1) === audio.length && recording.original_filename === 'nöte.wav';
    return seen && recording.status === 'transcribed' && grows && isWhole && recording.custom_tags.a === 'ü';
  });
  await step('words', async () => {
    const transcription = await client.recordings.transcription(id);
    return transcription.etag !== null && wordsOf(transcription).some(({ word }) => word === 'ten');
  });
  await step('bytes', async () => (await client.recordings.upload(audio)).file_size_bytes === audio.length);
  await step('readable stream', async () => {
    const stream = new Blob([audio]).stream();
    return (await client.recordings.upload(stream)).file_size_bytes === audio.length;
  });
  await step('path', async () => {
    if (path !== null) return (await client.recordings.upload(path)).file_size_bytes === audio.length;
    return await client.recordings.upload('note.wav').catch((error) => error instanceof TypeError);
  });
  await step('pages', async () => (await client.recordings.list({ limit: 2 }).all()).length >= 3);
  await step('errors', async () => {
    const error = await client.recordings.upload(new Blob(['no audio'])).catch((caught) => caught);
    return isApiError(error, 'ValidationError') && error.details.field === 'file' && error.requestId !== null;
  });
  await step('too large', async () => {
    const blob = new Blob([new Uint8Array(27_000_000)]);
    // Of a stream the service knows the length only when it has passed the limit.
    for (const source of [blob, blob.stream()]) {
      const error = await client.recordings.upload(source).catch((caught) => caught);
      if (!isApiError(error, 'PayloadTooLargeError')) throw error;
      if (error.details.max_bytes !== 26_214_400) return false;
    }
    return true;
  });
  await step('unreachable', async () => {
    const nowhere = new VoiceNotes({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
    return (await nowhere.account.get().catch((error) => error)).name === 'ConnectionError';
  });
  await step('webhook', async () => {
    const event = await verifyWebhook(delivery.body, new Headers(delivery.headers), delivery.secret);
    return event.event === 'webhook.test';
  });
  return results;
}
