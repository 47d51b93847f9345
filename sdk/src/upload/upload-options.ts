import type { RequestOptions } from '../http/transport.js';

export interface UploadProgress {
  /** Bytes sent so far. */
  sent: number;
  /** Bytes of all of it; null for a stream of unknown length. */
  total: number | null;
}

export interface UploadOptions extends RequestOptions {
  /** Your own tags: at most 10. */
  tags?: Record<string, string>;
  /** English name of the language spoken. Detected or assumed by the engine when omitted. */
  language?: string;
  /** Names and words to expect, the most important first. */
  vocabulary?: string[];
  /** `separate` transcribes each of two channels on its own. */
  channels?: 'mixed' | 'separate';
  /** Shown as the name of the file when the source has none. */
  filename?: string;
  onProgress?: (progress: UploadProgress) => void;
  /** One is made for each upload, so that every retry is safe. Give your own to make two runs of a program one upload. */
  idempotencyKey?: string;
}
