import type { RecordingsUploadResponse } from '../api/types.gen.js';
import type { Transport } from '../http/transport.js';
import type { AudioSource } from './audio-file.js';
import type { UploadOptions } from './upload-options.js';

/** Sends one voice note. A retry repeats the Idempotency-Key, so that it never becomes a second recording. */
export async function upload(
  transport: Transport,
  source: AudioSource,
  options: UploadOptions = {},
): Promise<RecordingsUploadResponse> {
  const form = formOf(source, options);
  const headers = { 'Idempotency-Key': options.idempotencyKey ?? crypto.randomUUID() };
  const request = { method: 'POST', path: '/recordings', headers, timeout: 0, ...options };
  return await transport.retrying(
    () => transport.once(request, { body: form }, (response) => response.json() as Promise<RecordingsUploadResponse>),
    options,
  );
}

function formOf(source: AudioSource, options: UploadOptions): FormData {
  const form = new FormData();
  if (options.tags) form.append('custom_tags', JSON.stringify(options.tags));
  if (options.language) form.append('language', options.language);
  if (options.vocabulary) form.append('vocabulary', JSON.stringify(options.vocabulary));
  if (options.channels) form.append('channels', options.channels);
  const name = options.filename ?? (source instanceof Blob && 'name' in source ? String(source.name) : 'voice-note');
  form.append('file', source instanceof Blob ? source : new Blob([source as BlobPart]), name);
  return form;
}
