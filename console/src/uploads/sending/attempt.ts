import type { VoiceNotes } from 'vnotes';

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
