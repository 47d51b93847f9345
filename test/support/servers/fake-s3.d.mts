import type { IncomingMessage } from 'node:http';

/**
 * What the next requests meet: `broken` 503s, `refused` 403s, `silent` never answers, `cut` ends a body half-way, `late`
 * closes the connection and stores the object when the test says so, `stuck` sends half of a body and then nothing,
 * `rangeless` sends the whole object whatever range is asked for, `unmeasured` sends half of one without its length.
 */
type S3Mood = 'well' | 'broken' | 'refused' | 'silent' | 'cut' | 'late' | 'stuck' | 'rangeless' | 'unmeasured';

/** For the tests. The chaos run uses the server too, and is not compiled. */
export class FakeS3 {
  readonly objects: Map<string, Buffer>;
  readonly requests: IncomingMessage[];
  readonly locked: Set<string>;
  hangs: boolean;
  sending: number;
  readonly bucket: string;
  static start(bucket?: string): Promise<FakeS3>;
  get url(): string;
  meet(...moods: S3Mood[]): void;
  arriveLate(): void;
  meetOn(method: 'PUT' | 'DELETE' | 'GET', ...moods: S3Mood[]): void;
  stop(): Promise<void>;
}
