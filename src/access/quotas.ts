/** What an account may use (D32). Null is unlimited. */
export interface Quotas {
  /** Bytes of audio in the object store. */
  storedBytes: number | null;
  /** Audio uploaded in a calendar month (UTC), also of recordings deleted since. */
  audioSecondsPerMonth: number | null;
  /** Audio of recordings that wait for their transcription. */
  queuedAudioSeconds: number | null;
  /** Uploads at the same time, in all processes. */
  concurrentUploads: number | null;
}

/** As clients and operators read them. */
export const QUOTA_NAMES = {
  storedBytes: 'stored_bytes',
  audioSecondsPerMonth: 'audio_seconds_per_month',
  queuedAudioSeconds: 'queued_audio_seconds',
  concurrentUploads: 'concurrent_uploads',
} as const satisfies Record<keyof Quotas, string>;

export type QuotaName = (typeof QUOTA_NAMES)[keyof Quotas];
