/** What packages that extend the service import as `voice-note-transcription-service` (docs/extending.md). */

// Start, migrate and manage the service with extensions.
export { AppModule } from '../app.module.js';
export { createApp } from '../app.setup.js';
export { runAccuracy } from '../commands/accuracy/accuracy-program.js';
export { runAdmin } from '../commands/admin/admin-program.js';
export { runMigrate } from '../commands/migrate-program.js';
export { runService } from '../commands/serve.js';
export type { Extension } from '../extension.js';
export { migrationsOf } from '../migrations/migrations.js';
export { Env, InvalidEnvironmentError, type RateLimit, readEnv, type Role } from '../platform/config/env.js';

// Access.
export { AllowAccessToken, Public, RequireScope } from '../access/access.decorators.js';
export { CurrentPrincipal } from '../access/access.decorators.js';
export type { Principal } from '../access/principal.js';
export type { Scope } from '../access/scopes.js';

// Events inside the service, and events that are sent to webhooks.
export {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  type RecordingSnapshot,
  RecordingTranscribed,
  type Transcript,
  TranscriptionCorrected,
} from '../modules/recordings/recordings.events.js';
export type { EventKind } from '../modules/webhooks/events/event-catalogue.js';
export { type NewWebhookEvent, WebhookEventsService } from '../modules/webhooks/events/webhook-events.service.js';
export { WebhooksModule } from '../modules/webhooks/webhooks.module.js';
export { EventBus } from '../platform/database/event-bus.js';

// Plans.
export type { PlanDefinition } from '../access/plans.js';

// Database.
export { type Migration, migrationDataSource } from '../platform/database/data-source.js';
export { DatabaseService, type SqlRunner, type Tx } from '../platform/database/database.service.js';
export {
  changeCatalog,
  changeInBatches,
  createIndexConcurrently,
  requireMigration,
} from '../platform/database/migration-steps.js';
export { migrate } from '../platform/database/schema.js';

// Errors.
export {
  AccountSuspendedError,
  AddressNotAllowedError,
  ApiError,
  AuthenticationError,
  type BrokenRule,
  ConflictError,
  InternalError,
  InvalidRequestError,
  LimitExceededError,
  MalformedRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  ServiceUnavailableError,
} from '../platform/errors/errors.js';

// Input.
export { NoQuery } from '../platform/http/input/request-validation.pipe.js';
export { isResourceId } from '../platform/database/find-or-fail.js';
export {
  AsInteger,
  IsDay,
  IsFilter,
  IsFutureInstant,
  IsInteger,
  IsIntegerParameter,
  IsListOf,
  IsOmittable,
  IsOneOf,
  IsText,
  IsValid,
} from '../platform/http/input/rules.js';

// Output.
export { ApiErrors } from '../platform/http/openapi.js';
export { PageFields, pageFields, PageQuery, type PageResult } from '../platform/http/page.js';
export { creationTime, eventTime, resourceTime } from '../platform/http/timestamps.js';

// Ports: engines, filters of transcripts, and object stores.
export {
  type AudioChunk,
  AudioRejectedError,
  type ChunkTranscript,
  type EngineDefinition,
  EngineError,
  EngineUnavailableError,
  type TranscribeOptions,
  type TranscriptionEngine,
  type TranscriptWord,
} from '../modules/transcriptions/engines/transcription-engine.js';
export type { Calibration, CalibrationPoint } from '../modules/transcriptions/engines/calibration.js';
export type { FilterableTranscript, TranscriptFilter } from '../modules/transcriptions/worker/transcriber.service.js';
export type { ByteRange } from '../platform/storage/file-system.js';
export { ObjectStore, type ObjectStoreDefinition } from '../platform/storage/object-store.js';
export type { Spool, SpoolFile } from '../platform/storage/spool.js';
export { ObjectNotFoundError, StorageUnavailableError } from '../platform/storage/file-system.js';
