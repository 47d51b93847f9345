export { VoiceNotes } from './client.js';
export {
  ApiError,
  type ApiErrorType,
  ConnectionError,
  type RateLimit,
  rateLimitOf,
  TimeoutError,
  VoiceNotesError,
} from './http/errors.js';
export type { ClientOptions, RequestOptions } from './http/transport.js';
export type { Page, Paged } from './pages/paged.js';
export type { AccountEvent } from './resources/events.js';
export type { ApiKey } from './resources/keys.js';
export type { Recording, Transcription, TranscriptionOptions, TranscriptionVersion } from './resources/recordings.js';
export type { Delivery, Webhook } from './resources/webhooks.js';
export type { AudioSource, ByteStream } from './upload/audio-file.js';
export type { UploadOptions, UploadProgress } from './upload/upload-options.js';
