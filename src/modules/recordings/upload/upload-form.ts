import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy, { type Busboy, type FileInfo } from 'busboy';
import { MalformedRequestError, PayloadTooLargeError, InvalidRequestError } from '../../../platform/errors/errors.js';
import type { Spool, SpoolFile } from '../../../platform/storage/spool.js';
import { cleanFilename } from './original-filename.js';

/** 25 MB (D21). */
const MAX_FILE_BYTES = 26_214_400;
/** The file, and what the other parts and the boundaries of a form may add to it. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + 65_536;

/** A boundary has 70 characters at the most (RFC 2046 §5.1.1); one of thousands can be made very slow to look for. */
const MAX_TYPE_LENGTH = 256;

const LIMITS = {
  // One more than allowed, so that a file of exactly the maximum is told from one that was cut off.
  fileSize: MAX_FILE_BYTES + 1,
  files: 1,
  fields: 10,
  parts: 12,
  fieldSize: 16_384,
  fieldNameSize: 100,
  headerPairs: 20,
};

const FIELDS = ['custom_tags', 'language'] as const;
type Field = (typeof FIELDS)[number];

/** An upload form as it arrived: the file in the spool, the text fields not judged yet. */
export interface UploadForm {
  file: SpoolFile;
  originalFilename: string;
  /** Hex SHA-256 of the bytes; null unless it was asked for. */
  sha256: string | null;
  fields: Partial<Record<Field, string>>;
}

type ReceivedFile = Pick<UploadForm, 'originalFilename' | 'sha256'>;

/**
 * Reads a form with one part `file` into the spool, never holding the file in memory. The caller discards `file`;
 * when this throws, nothing is left behind.
 * @param hashes whether the SHA-256 is asked for.
 * @throws MalformedRequestError, InvalidRequestError, PayloadTooLargeError as soon as the limit is passed,
 *   StorageUnavailableError, ClientDisconnectedError.
 */
export async function readUploadForm(request: IncomingMessage, spool: Spool, hashes: boolean): Promise<UploadForm> {
  const parser = openParser(request);
  const file = await spool.create();
  const hash = hashes ? createHash('sha256') : null;
  try {
    return { file, ...(await readForm(request, parser, (stream, info) => spoolFile(stream, info, file, hash))) };
  } catch (error) {
    request.unpipe(parser);
    parser.destroy();
    await file.discard();
    throw error;
  }
}

/** Nobody is there any more to be answered. */
class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
  /** Seen by nobody; says that it is not a defect of ours. */
  readonly status = 400;
}

function openParser(request: IncomingMessage): Busboy {
  const { headers } = request;
  const { 'content-type': type = '', 'content-encoding': encoding } = headers;
  if (!/^multipart\/form-data\b/i.test(type) || (encoding && encoding !== 'identity')) {
    throw new MalformedRequestError('An upload must be multipart/form-data with a part named "file".');
  }
  if (Number(headers['content-length'] ?? 0) > MAX_FORM_BYTES) throw tooLarge();
  if (type.length > MAX_TYPE_LENGTH) throw noBoundary();
  try {
    return busboy({ headers, limits: LIMITS, defParamCharset: 'utf8', preservePath: true });
  } catch {
    throw noBoundary();
  }
}

function readForm(
  request: IncomingMessage,
  parser: Busboy,
  receive: (stream: Readable, info: FileInfo) => Promise<ReceivedFile>,
): Promise<Omit<UploadForm, 'file'>> {
  return new Promise((resolve, reject) => {
    const malformed = (): void => reject(new MalformedRequestError('The multipart body is malformed or incomplete.'));
    const fields: UploadForm['fields'] = {};
    let received: Promise<ReceivedFile> | null = null;
    parser.on('file', (name: string | undefined, stream, info) => {
      // Without a listener the error that ends a refused form would end the process.
      stream.on('error', malformed);
      if (name !== 'file') return reject(unknownField(name));
      received = receive(stream, info);
      received.catch(reject);
    });
    parser.on('field', (name: string | undefined, value: string | undefined, { valueTruncated }) => {
      const refusal = checkField(name, fields, valueTruncated);
      if (refusal) reject(refusal);
      // The parser knows few character sets, and gives nothing for text in another.
      else if (value === undefined)
        reject(new InvalidRequestError({ field: name as Field, reason: 'must be in UTF-8' }));
      else fields[name as Field] = value;
    });
    parser.on('filesLimit', () => reject(new InvalidRequestError({ field: 'file', reason: 'must be sent once' })));
    for (const limit of ['fieldsLimit', 'partsLimit'] as const) {
      parser.on(limit, () => reject(new MalformedRequestError('The form has too many fields.')));
    }
    parser.on('error', malformed);
    parser.on('close', () => {
      if (received) void received.then((done) => resolve({ ...done, fields }), reject);
      else reject(new InvalidRequestError({ field: 'file', reason: 'is required' }));
    });
    request.on('close', () => {
      if (!request.complete) reject(new ClientDisconnectedError('the client went away'));
    });
    request.on('error', () => reject(new ClientDisconnectedError('the client went away')));
    // A chunked body states no length, and what stands before the first part and behind the last is passed over.
    let arrived = 0;
    request.on('data', (chunk: Buffer) => {
      arrived += chunk.length;
      if (arrived > MAX_FORM_BYTES) reject(tooLarge());
    });
    // Whoever went away before this point will not say so again.
    if (request.destroyed) reject(new ClientDisconnectedError('the client went away'));
    else request.pipe(parser);
  });
}

async function spoolFile(stream: Readable, info: FileInfo, file: SpoolFile, hash: Hash | null): Promise<ReceivedFile> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (file.sizeBytes + chunk.length > MAX_FILE_BYTES) throw tooLarge();
    hash?.update(chunk);
    await file.write(chunk);
  }
  return { originalFilename: cleanFilename(info.filename), sha256: hash?.digest('hex') ?? null };
}

function checkField(
  name: string | undefined,
  fields: UploadForm['fields'],
  truncated: boolean,
): InvalidRequestError | null {
  if (name === 'file') return new InvalidRequestError({ field: name, reason: 'must be a file, with a filename' });
  if (name === undefined || !FIELDS.includes(name as Field)) return unknownField(name);
  if (name in fields) return new InvalidRequestError({ field: name, reason: 'must be sent once' });
  if (truncated) return new InvalidRequestError({ field: name, reason: 'is too long' });
  return null;
}

/** @param name undefined for a part without one */
const unknownField = (name = ''): InvalidRequestError =>
  new InvalidRequestError({
    field: name.toWellFormed(),
    reason: 'is not a field of this form: it takes file, custom_tags and language',
  });

const noBoundary = (): MalformedRequestError =>
  new MalformedRequestError('The multipart boundary is missing or too long.');

const tooLarge = (): PayloadTooLargeError => new PayloadTooLargeError('The file', MAX_FILE_BYTES);
