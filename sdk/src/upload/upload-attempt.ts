import type { Deadline } from '../http/deadline.js';
import type { ApiRequest, Transport } from '../http/transport.js';
import type { Answer } from '../http/answer.js';
import type { AudioFile } from './audio-file.js';

/** One attempt to send a file. */
export interface UploadAttempt {
  transport: Transport;
  request: ApiRequest;
  fields: Record<string, string>;
  file: AudioFile;
  /** Begins again with every progress. */
  deadline: Deadline;
  /** @param sent bytes of the file */
  onSent: (sent: number) => void;
}

export type UploadSender = (attempt: UploadAttempt) => Promise<Answer>;
