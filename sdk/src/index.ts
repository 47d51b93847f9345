export { VoiceNotes } from './client.js';
export type { EventQuery, FeedPage } from './resources/events.js';
export type {
  AccountEvent,
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  RecordingPartial,
  RecordingTranscribed,
  StoredEvent,
  TranscriptionCorrected,
  WebhookEventBody,
  WebhookTest,
} from './events/event-types.js';
export type { StreamOptions, StreamState } from './events/event-stream.js';
export type { WaitOptions } from './events/recording-waiter.js';
export { rateLimitOf } from './http/answer.js';
export type { ClientOptions, RequestOptions } from './http/client-options.js';
export type { BrokenRule, ErrorDetails } from './http/error-details.js';
export {
  ApiError,
  type ApiErrorFields,
  type ApiErrorType,
  ConnectionError,
  InvalidResponseError,
  isApiError,
  type RateLimit,
  TimeoutError,
  VoiceNotesError,
} from './http/errors.js';
export type { Page, Paged } from './pages/paged.js';
export type { RecordingOptions, TranscriptionOptions } from './resources/recordings.js';
export { type Scope, SCOPES } from './scopes.js';
export { type TranscriptionWord, wordsOf } from './transcriptions/words.js';
export type * from './types.js';
export type { AudioSource } from './upload/audio-file.js';
export type { ByteStream } from './upload/kept-stream.js';
export type { AudioLink, UploadOptions, UploadProgress } from './upload/upload-options.js';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhooks/verify-webhook.js';
export { type WebhookRefusal, WebhookVerificationError } from './webhooks/webhook-error.js';
