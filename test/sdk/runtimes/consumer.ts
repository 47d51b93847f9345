// A program that uses the types of the package: the kind of an event, of an error, of a webhook.
import { isApiError, type Recording, verifyWebhook, VoiceNotes, wordsOf } from 'vnotes';

const client = new VoiceNotes({ baseUrl: 'https://notes.example.com', key: 'k', secret: 's' });

export async function program(
  body: Uint8Array,
  headers: Record<string, string | string[] | undefined>,
): Promise<Recording[]> {
  for await (const event of client.events.stream({ after: 'latest' })) {
    if (event.event === 'transcription.corrected') return [await client.recordings.get(event.body.recording.id)];
    if (event.event === 'recording.failed') throw new Error(event.body.error.message);
    // @ts-expect-error -- no other event has an error
    void event.body.error;
  }
  const event = await verifyWebhook(body, headers, ['a', 'b'], { tolerance: 60 });
  if (event.event === 'recording.transcribed') {
    const seconds: number = event.recording.duration;
    return await client.recordings.list({ status: 'transcribed', tags: { seconds: `${seconds}` } }).all();
  }
  const words = wordsOf(await client.recordings.transcription(event.id));
  const first: number | undefined = words[0]?.start;
  const page = await client.recordings.list({ page: first ?? 0 }).catch((error: unknown) => {
    if (isApiError(error, 'QuotaExceededError')) return { recordings: [], total: error.details.used };
    if (isApiError(error, 'TRANSCRIPTION_FAILED')) throw new Error(error.details.reason);
    throw error;
  });
  return page.recordings;
}
