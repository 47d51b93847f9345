import { ApiError, type VoiceNotes } from 'vnotes';

import type { UploadItem } from '../store/upload-item';

interface AttemptOptions {
  signal: AbortSignal;
  onProgress: (sent: number) => void;
}

/**
 * Sends an item once. The queue repeats it: it knows more of why to wait than a library can.
 * @returns the id of the recording
 */
export async function attemptUpload(
  client: VoiceNotes,
  item: UploadItem,
  bytes: Blob,
  options: AttemptOptions,
): Promise<string> {
  const { liveId } = item;
  if (liveId !== undefined && (await isWhole(client, liveId, item.size, options.signal))) return liveId;
  const id = await upload(client, item, bytes, options);
  // Its beginning, which the service got while it was recorded, would be a second recording.
  if (liveId !== undefined && liveId !== id) await client.recordings.delete(liveId).catch(() => undefined);
  return id;
}

/** Whether the service got all of a recording while it was made. */
async function isWhole(client: VoiceNotes, id: string, size: number, signal: AbortSignal): Promise<boolean> {
  try {
    const { file_size_bytes: stored } = await client.recordings.get(id, { maxRetries: 0, signal });
    return stored >= size;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

async function upload(
  client: VoiceNotes,
  { name, idempotencyKey, tags, language, speakers = '' }: UploadItem,
  bytes: Blob,
  { signal, onProgress }: AttemptOptions,
): Promise<string> {
  const { id } = await client.recordings.upload(bytes, {
    filename: name,
    idempotencyKey,
    maxRetries: 0,
    signal,
    onProgress: ({ sent }) => onProgress(sent),
    ...(Object.keys(tags).length > 0 && { tags }),
    ...(language.includes(',') ? { languages: language.split(',') } : language !== '' && { language }),
    ...(speakers !== '' && { speakers: speakers === 'auto' ? 'auto' : Number(speakers) }),
  });
  return id;
}
