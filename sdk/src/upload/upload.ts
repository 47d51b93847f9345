import type { RecordingView } from '../api/types.gen.js';
import { jsonOf } from '../http/answer.js';
import { Deadline } from '../http/deadline.js';
import type { Transport } from '../http/transport.js';
import { type AudioFile, audioFileOf, type AudioSource } from './audio-file.js';
import { sendAsForm, sendByXhr } from './form-sender.js';
import { randomId } from './random-id.js';
import { sendAsStream } from './stream-sender.js';
import type { UploadSender } from './upload-attempt.js';
import { type AudioLink, fieldsOf, type UploadOptions } from './upload-options.js';

/** Of an upload, without any progress. Storing a large file takes the service some seconds. */
const IDLE_TIMEOUT_MS = 60_000;

/** Sends one voice note. A retry repeats the Idempotency-Key, so that it never becomes a second recording. */
export async function upload(
  transport: Transport,
  source: AudioSource,
  options: UploadOptions = {},
): Promise<RecordingView> {
  options.signal?.throwIfAborted();
  const file = await audioFileOf(source, options.filename);
  const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomId() };
  const request = { method: 'POST', path: '/recordings', headers, signal: options.signal };
  const fields = fieldsOf(options);
  const send = senderFor(transport);
  const timeout = options.timeout ?? transport.options.timeout ?? IDLE_TIMEOUT_MS;
  const once = async (attempt: number): Promise<RecordingView> => {
    const deadline = new Deadline(options.signal, timeout);
    const onSent = progressOf(file, attempt, options.onProgress);
    onSent(0);
    try {
      return jsonOf(await send({ transport, request, fields, file, deadline, onSent })) as RecordingView;
    } finally {
      deadline.end();
    }
  };
  try {
    return await transport.retrying(once, options);
  } finally {
    file.close();
  }
}

/** Has the service fetch the audio. A retry repeats the Idempotency-Key, as that of a file. */
export async function uploadLink(
  transport: Transport,
  { url }: AudioLink,
  options: UploadOptions = {},
): Promise<RecordingView> {
  const { tags: custom_tags, languages, vocabulary, ...fields } = options;
  const body = { ...fieldsOf(fields), url, custom_tags, languages, vocabulary };
  const headers = { 'Idempotency-Key': options.idempotencyKey ?? randomId() };
  const { signal, timeout, maxRetries } = options;
  const request = { method: 'POST', path: '/recordings', headers, body, mayRepeat: true };
  return await transport.json<RecordingView>({ ...request, signal, timeout, maxRetries });
}

/** Within an attempt only what is more than before is told. */
function progressOf(
  { size }: AudioFile,
  attempt: number,
  onProgress: UploadOptions['onProgress'],
): (sent: number) => void {
  let told = -1;
  return (sent) => {
    if (sent <= told) return;
    told = sent;
    onProgress?.({ sent, total: size, attempt });
  };
}

/** Browsers stream uploads over HTTP/2 only, if at all. */
function senderFor({ options }: Transport): UploadSender {
  if (typeof XMLHttpRequest !== 'undefined' && !options.fetch) return sendByXhr;
  const isPage = typeof document !== 'undefined' || 'ServiceWorkerGlobalScope' in globalThis;
  return isPage ? sendAsForm : sendAsStream;
}
