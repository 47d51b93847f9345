import { createReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { OnApplicationShutdown } from '@nestjs/common';
import { forEachAtOnce } from '../concurrency/concurrency-limit.js';
import { retry } from '../concurrency/retry.js';
import { MAX_FILE_BYTES } from '../audio-formats.js';
import type { Env } from '../config/env.js';
import { type ByteRange, ObjectNotFoundError, StorageUnavailableError } from './file-system.js';
import { assertKeyFolder, assertKeyPrefix, assertObjectKey, type ListedStore, ObjectStore } from './object-store.js';
import { isRangeOf, readRange } from './s3-range-reader.js';
import type { Spool, SpoolFile } from './spool.js';

type S3Settings = Pick<Env, 's3Endpoint' | 's3Region' | 's3Bucket' | 's3AccessKeyId' | 's3SecretAccessKey'>;

/** Milliseconds. `transfer` is for an object as large as an upload may be, `call` for a request without a body. */
interface S3Timeouts {
  connect: number;
  call: number;
  transfer: number;
}

const TIMEOUTS: S3Timeouts = { connect: 3000, call: 5000, transfer: 60_000 };
/** The client logs its retries to the console; the errors thrown here say what came of them. */
const NO_LOG = { debug() {}, info() {}, warn() {}, error() {} };
/** The client's own default. */
const S3_SOCKETS = 50;
const PUT_ATTEMPTS = 3;
const REMOVALS_AT_ONCE = 16;
const PUT_RETRY_MS = 200;

/** Objects in a bucket of Amazon S3 or of a compatible server (MinIO, Ceph, R2, Garage …). */
export class S3ObjectStore extends ObjectStore implements ListedStore, OnApplicationShutdown {
  readonly bucket: string;
  private readonly client: S3Client;
  /** With connections of its own: those who read audio must not keep uploads and transcriptions waiting. */
  private readonly readers: S3Client;

  constructor(
    settings: S3Settings,
    private readonly spool: Spool,
    private readonly timeouts: S3Timeouts = TIMEOUTS,
  ) {
    super();
    this.bucket = settings.s3Bucket;
    this.client = newClient(settings, timeouts);
    this.readers = newClient(settings, timeouts);
  }

  async put(key: string, file: SpoolFile, reserved?: Promise<void>): Promise<void> {
    assertObjectKey(key);
    await reserved;
    const signal = AbortSignal.timeout(this.transferMs(file.sizeBytes));
    let mayArriveLate = false;
    // The client cannot retry a request whose body is a stream, so each attempt here opens a new stream.
    await retry(
      () => this.putOnce(key, file, signal),
      (error, attempt) => {
        mayArriveLate ||= !isRefusal(error);
        if (attempt >= PUT_ATTEMPTS || signal.aborted || !isTransient(error)) throw failedPut(error, mayArriveLate);
        return PUT_RETRY_MS * attempt * (0.5 + Math.random());
      },
    );
  }

  async withFile<T>(key: string, use: (file: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    assertObjectKey(key);
    return await this.spool.withFile(async (copy) => {
      await this.download(key, copy, signal);
      return await use(copy.path);
    });
  }

  override async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
    assertObjectKey(key);
    const stallMs = this.timeouts.call;
    const all = range ?? { start: 0, end: (await this.sizeOf(key, signal)) - 1 };
    const fetch = (part: ByteRange, ended: AbortSignal): Promise<Readable> => this.fetchRange(key, part, ended);
    return await readRange({ fetch, stallMs }, all, signal);
  }

  async remove(key: string): Promise<void> {
    assertObjectKey(key);
    await this.removeAny(key);
  }

  /** Also one that this service did not name. */
  private async removeAny(key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.bucket, Key: key });
    try {
      await this.client.send(command, { abortSignal: within(this.timeouts.call) });
    } catch (error) {
      if (!(error instanceof NoSuchKey)) throw asUnavailable('removing', error);
    }
  }

  async *list(folder: string): AsyncGenerator<string> {
    assertKeyFolder(folder);
    for await (const keys of this.keysUnder(folder)) yield* keys;
  }

  async countUnder(prefix: string): Promise<number> {
    assertKeyPrefix(prefix);
    let count = 0;
    for await (const keys of this.keysUnder(prefix)) count += keys.length;
    return count;
  }

  async removeUnder(prefix: string): Promise<number> {
    assertKeyPrefix(prefix);
    let removed = 0;
    for await (const keys of this.keysUnder(prefix)) {
      await forEachAtOnce(REMOVALS_AT_ONCE, keys, (key) => this.removeAny(key));
      removed += keys.length;
    }
    return removed;
  }

  async check(): Promise<void> {
    const command = new HeadBucketCommand({ Bucket: this.bucket });
    try {
      await this.client.send(command, { abortSignal: within(this.timeouts.call) });
    } catch (error) {
      throw asUnavailable('checking the bucket', error);
    }
  }

  onApplicationShutdown(): void {
    this.client.destroy();
    this.readers.destroy();
  }

  private async *keysUnder(prefix: string): AsyncGenerator<string[]> {
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket: this.bucket, Prefix: `${prefix}/`, ContinuationToken });
      const page = await this.client
        .send(command, { abortSignal: within(this.timeouts.call) })
        .catch((error: unknown) => {
          throw asUnavailable('listing', error);
        });
      yield (page.Contents ?? []).flatMap(({ Key }) => Key ?? []);
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken);
  }

  private async putOnce(key: string, { path, sizeBytes }: SpoolFile, abortSignal: AbortSignal): Promise<void> {
    const body = createReadStream(path);
    try {
      const target = { Bucket: this.bucket, Key: key };
      await this.client.send(new PutObjectCommand({ ...target, Body: body, ContentLength: sizeBytes }), {
        abortSignal,
      });
    } finally {
      body.destroy();
    }
  }

  /** A live recording may be larger than any upload. */
  private transferMs(bytes: number): number {
    return this.timeouts.transfer * Math.max(1, Math.ceil(bytes / MAX_FILE_BYTES));
  }

  private async fetchRange(key: string, range: ByteRange, signal: AbortSignal): Promise<Readable> {
    try {
      const Range = `bytes=${range.start}-${range.end}`;
      const command = new GetObjectCommand({ Bucket: this.bucket, Key: key, Range });
      const { Body, ContentRange, ContentLength } = await this.readers.send(command, {
        abortSignal: within(this.timeouts.call, signal),
      });
      const body = Body as Readable;
      if (isRangeOf(range, ContentRange, ContentLength)) return body;
      body.destroy();
      throw new Error(`${Range} was answered with ${ContentRange ?? 'the whole object'}`);
    } catch (error) {
      if (error instanceof NoSuchKey) throw new ObjectNotFoundError(`Object not found: ${key}`, { cause: error });
      throw asUnavailable('reading', error);
    }
  }

  private async sizeOf(key: string, signal?: AbortSignal): Promise<number> {
    const command = new HeadObjectCommand({ Bucket: this.bucket, Key: key });
    try {
      const abortSignal = within(this.timeouts.call, signal);
      return (await this.readers.send(command, { abortSignal })).ContentLength ?? 0;
    } catch (error) {
      if (error instanceof NotFound) throw new ObjectNotFoundError(`Object not found: ${key}`, { cause: error });
      throw asUnavailable('reading', error);
    }
  }

  private async download(key: string, copy: SpoolFile, signal?: AbortSignal): Promise<void> {
    try {
      const command = new GetObjectCommand({ Bucket: this.bucket, Key: key });
      const abortSignal = within(this.timeouts.transfer, signal);
      const { Body: body, ContentLength: expected } = await this.client.send(command, { abortSignal });
      let received = 0;
      // The client observes the signal only until the headers of the response have arrived.
      const inTime = addAbortSignal(within(this.transferMs(expected ?? 0), signal), body as Readable);
      for await (const chunk of inTime as AsyncIterable<Uint8Array>) {
        await copy.write(chunk);
        received += chunk.length;
      }
      if (received !== expected) throw new Error(`${received} of ${expected} bytes arrived`);
    } catch (error) {
      if (error instanceof NoSuchKey) throw new ObjectNotFoundError(`Object not found: ${key}`, { cause: error });
      throw asUnavailable('fetching', error);
    }
  }
}

/** Ends a request after so long, or with `signal`. */
function within(ms: number, signal?: AbortSignal): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([timeout, signal]) : timeout;
}

function newClient(settings: S3Settings, timeouts: S3Timeouts): S3Client {
  return new S3Client({
    region: settings.s3Region,
    ...(settings.s3Endpoint ? { endpoint: settings.s3Endpoint, forcePathStyle: true } : {}),
    credentials: credentialsOf(settings),
    // By default the client sends a body in signed chunks with a trailing checksum, which many compatible servers
    // store as a part of the object.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: NO_LOG,
    requestHandler: {
      connectionTimeout: timeouts.connect,
      socketTimeout: timeouts.transfer,
      // Explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
      httpsAgent: { keepAlive: true, maxSockets: S3_SOCKETS, rejectUnauthorized: true },
    },
  });
}

/** Without keys the client uses its default chain: a role, an instance profile, AWS_* variables. */
function credentialsOf({ s3AccessKeyId, s3SecretAccessKey }: S3Settings) {
  if (s3AccessKeyId === null || s3SecretAccessKey === null) return undefined;
  return { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey };
}

/** Whether a retry may succeed: the server is overloaded, or the connection broke. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof S3ServiceException)) return true;
  const status = error.$metadata.httpStatusCode ?? 500;
  return status >= 500 || status === 429 || status === 408;
}

/** Whether the server has answered that it does not do what was asked. After an error of its own it may have. */
function isRefusal(error: unknown): boolean {
  return error instanceof S3ServiceException && (error.$metadata.httpStatusCode ?? 500) < 500;
}

function failedPut(error: unknown, mayArriveLate: boolean): StorageUnavailableError {
  const { message, cause } = asUnavailable('storing', error);
  return new StorageUnavailableError(message, { cause, mayArriveLate });
}

function asUnavailable(doing: string, error: unknown): StorageUnavailableError {
  if (error instanceof StorageUnavailableError) return error;
  const status = error instanceof S3ServiceException ? `${error.$metadata.httpStatusCode ?? ''} ` : '';
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new StorageUnavailableError(`S3, ${doing}: ${status}${what}`, { cause: error });
}
