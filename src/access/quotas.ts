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
