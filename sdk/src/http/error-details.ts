/** One broken rule of a request: the field or parameter, and what it must be. */
export interface BrokenRule {
  field: string;
  reason: string;
}

type None = Record<string, never>;

/** What `details` holds, by the type of an error or its named code. */
export interface ErrorDetails {
  AuthenticationError: None;
  /** The scope that the key lacks. */
  PermissionError: { required_scope: string };
  AccountSuspendedError: None;
  /** The address that the key does not allow. */
  AddressNotAllowedError: { address: string };
  QuotaExceededError: {
    quota: 'stored_bytes' | 'audio_seconds_per_month' | 'queued_audio_seconds';
    limit: number;
    used: number;
    /** Null where the use goes down as recordings are deleted or transcribed. */
    resets_at: string | null;
  };
  /** The first broken rule, and all of them. */
  ValidationError: BrokenRule & { errors: BrokenRule[] };
  MalformedRequestError: None;
  LimitExceededError: { maximum: number };
  ConflictError: None;
  /** The tag of the present version. */
  PreconditionFailedError: { etag: string };
  PayloadTooLargeError: { max_bytes: number };
  RangeNotSatisfiableError: { size_bytes: number };
  NotFoundError: Record<string, unknown>;
  /** `limit` and `used` where uploads or event streams are counted instead of requests. */
  RateLimitError: { retry_after: number; quota?: 'concurrent_uploads'; limit?: number; used?: number };
  InternalError: { request_id: string };
  ServiceUnavailableError: None;
  /** Code of a NotFoundError: the recording is still being transcribed. */
  TRANSCRIPTION_NOT_READY: None;
  /** Code of a NotFoundError: the recording could not be transcribed. */
  TRANSCRIPTION_FAILED: { reason: string };
}
