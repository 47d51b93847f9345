import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy, { type Busboy, type FileInfo } from 'busboy';
import { MAX_FILE_BYTES } from '../../../platform/audio-formats.js';
import { InvalidRequestError, MalformedRequestError, PayloadTooLargeError } from '../../../platform/errors/errors.js';
import { type FormFields, MAX_FIELD_BYTES, unknownField } from '../../../platform/http/input/form-fields.js';
import type { Spool, SpoolFile } from '../../../platform/storage/spool.js';

const MAX_OVERHEAD_BYTES = 65_536;
/** The file, plus the other parts and the boundaries of the form. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + MAX_OVERHEAD_BYTES;

/** A boundary has at most 70 characters (RFC 2046 §5.1.1); a search for a much longer one can be made very slow. */
const MAX_TYPE_LENGTH = 256;

const LIMITS = {
  // One more than allowed, to tell a file or a text of exactly the maximum from a truncated one.
  fileSize: MAX_FILE_BYTES + 1,
  files: 1,
  fieldSize: MAX_FIELD_BYTES + 1,
};

/** The file of an upload form, in the spool. */
export interface UploadForm {
  file: SpoolFile;
  originalFilename: string;
  /** Hex SHA-256 of the bytes; null unless requested. */
  sha256: string | null;
}

type ReceivedFile = Pick<UploadForm, 'originalFilename' | 'sha256'>;

/** Bytes that the file of the form must have, by the length of the body; 0 when that is not stated. */
export function minFileBytes({ headers }: IncomingMessage): number {
  return Math.max(0, Number(headers['content-length'] ?? 0) - MAX_OVERHEAD_BYTES);
}

/**
 * Reads a form with one part `file` into the spool, without holding the file in memory. The caller discards `file`;
 * when this throws, the file is removed. Null for a form whose fields stand for the file.
 * @param fields takes the other parts.
 * @param computeSha256 whether `sha256` is wanted.
 * @throws MalformedRequestError, InvalidRequestError, PayloadTooLargeError as soon as the limit is passed,
 *   StorageUnavailableError, ClientDisconnectedError.
 */
export async function readUploadForm(
  request: IncomingMessage,
  spool: Spool,
  fields: FormFields,
  computeSha256: boolean,
): Promise<UploadForm | null> {
  const parser = openParser(request, fields.maxFields);
  const file = await spool.create();
  const hash = computeSha256 ? createHash('sha256') : null;
  try {
    const received = await readForm(request, parser, fields, (stream, info) => spoolFile(stream, info, file, hash));
    if (received && !fields.mayLackFile) return { file, ...received };
    if (received) throw fileAndLink();
    await file.discard();
    return null;
  } catch (error) {
    request.unpipe(parser);
    parser.destroy();
    await file.discard();
    throw error;
  }
}

/** The client closed the connection before the end of its request. */
class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
  /** Never sent; keeps the error out of the 5xx statistics. */
  readonly status = 400;
}

export const notAnUpload = () =>
  new MalformedRequestError(
    'An upload must be multipart/form-data with a part named "file". With curl: -F file=@note.ogg',
  );

function openParser(request: IncomingMessage, maxFields: number): Busboy {
  const { headers } = request;
  const { 'content-type': type = '', 'content-encoding': encoding } = headers;
  if (!/^multipart\/form-data\b/i.test(type) || (encoding && encoding !== 'identity')) {
    throw notAnUpload();
  }
  if (Number(headers['content-length'] ?? 0) > MAX_FORM_BYTES) throw tooLarge();
  if (type.length > MAX_TYPE_LENGTH) throw noBoundary();
  try {
    const limits = { ...LIMITS, fields: maxFields, parts: maxFields + 2 };
    return busboy({ headers, limits, defParamCharset: 'utf8', preservePath: true });
  } catch {
    throw noBoundary();
  }
}

function readForm(
  request: IncomingMessage,
  parser: Busboy,
  fields: FormFields,
  receive: (stream: Readable, info: FileInfo) => Promise<ReceivedFile>,
): Promise<ReceivedFile | null> {
  return new Promise((resolve, reject) => {
    const malformed = (): void => reject(new MalformedRequestError('The multipart body is malformed or incomplete.'));
    let received: Promise<ReceivedFile> | null = null;
    parser.on('file', (name: string | undefined, stream, info) => {
      // Without a listener the error that ends a rejected form would end the process.
      stream.on('error', malformed);
      if (name !== 'file') return reject(unknownField(name, fields.names));
      received = receive(stream, info);
      received.catch(reject);
    });
    parser.on('field', (name: string | undefined, value: string | undefined, { valueTruncated }) => {
      const refusal = name === 'file' ? fileAsText() : fields.add({ name, value, isTruncated: valueTruncated });
      if (refusal) reject(refusal);
    });
    parser.on('filesLimit', () => reject(new InvalidRequestError({ field: 'file', reason: 'may be given only once' })));
    for (const limit of ['fieldsLimit', 'partsLimit'] as const) {
      parser.on(limit, () =>
        reject(new MalformedRequestError(`The form has too many parts. Send file, ${listOf(fields.names)}.`)),
      );
    }
    parser.on('error', malformed);
    parser.on('close', () => {
      if (received) void received.then(resolve, reject);
      else if (fields.mayLackFile) resolve(null);
      else reject(new InvalidRequestError({ field: 'file', reason: 'is required. With curl: -F file=@note.ogg' }));
    });
    request.on('close', () => {
      if (!request.complete) reject(new ClientDisconnectedError('client disconnected'));
    });
    request.on('error', () => reject(new ClientDisconnectedError('client disconnected')));
    // A chunked body states no length, and the parser ignores bytes before the first part and after the last.
    let arrived = 0;
    request.on('data', (chunk: Buffer) => {
      arrived += chunk.length;
      if (arrived > MAX_FORM_BYTES) reject(tooLarge());
    });
    // A request that was destroyed before this emits no further event.
    if (request.destroyed) reject(new ClientDisconnectedError('client disconnected'));
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

export const fileAndLink = (): InvalidRequestError =>
  new InvalidRequestError({ field: 'url', reason: 'may not be given together with a file' });

const fileAsText = (): InvalidRequestError =>
  new InvalidRequestError({ field: 'file', reason: 'was sent as text. With curl: -F file=@note.ogg' });

const noBoundary = (): MalformedRequestError =>
  new MalformedRequestError('The multipart boundary in Content-Type is missing or too long.');

const tooLarge = (): PayloadTooLargeError => new PayloadTooLargeError('The file', MAX_FILE_BYTES);

const listOf = (names: readonly string[]): string => names.join(', ').replace(/, (\w+)$/, ' and $1');

const MAX_LENGTH = 255;

/** A longer "extension" is not one, and is not kept when a name is cut. */
const MAX_EXTENSION_LENGTH = 16;

const NAMELESS = 'recording';

/**
 * The base name of an uploaded file (D22): safe to print, log and show, never part of a path. Removed are control
 * characters, format characters (bidi overrides that make `gpj.exe` look like `exe.jpg`, zero-width ones), line and
 * paragraph separators, and lone surrogates, which have no UTF-8. At most 255 code points, the extension kept.
 * @param raw as it is in the form
 */
export function cleanFilename(raw: string | undefined): string {
  const visible = unescaped(raw ?? '').replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
  // Old browsers on Windows sent whole paths, so both separators count on every system.
  const base = visible.slice(Math.max(visible.lastIndexOf('/'), visible.lastIndexOf('\\')) + 1);
  // A cut may leave a space at the end.
  const name = shorten(base.normalize('NFC').trim()).trimEnd();
  return name === '' || name === '.' || name === '..' ? NAMELESS : name;
}

/** Browsers, `fetch` and curl write these three so (WHATWG HTML, "multipart/form-data"), and do not escape the `%`. */
function unescaped(name: string): string {
  return name.replace(/%(?:22|0D|0A)/g, (code) => (code === '%22' ? '"' : ''));
}

function shorten(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= MAX_LENGTH) return name;
  const dot = characters.lastIndexOf('.');
  const extension = dot > 0 && characters.length - dot <= MAX_EXTENSION_LENGTH ? characters.slice(dot) : [];
  return [...characters.slice(0, MAX_LENGTH - extension.length), ...extension].join('');
}
