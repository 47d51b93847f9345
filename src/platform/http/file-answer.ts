import type { Request, Response } from 'express';
import { NotFoundError, PreconditionFailedError, RangeNotSatisfiableError } from '../errors/errors.js';
import { type ByteRange, ObjectNotFoundError } from '../storage/file-system.js';
import { allowsRange, evaluateConditions, parseByteRanges, type Validators } from './file-request.js';
import { contentDisposition, sendFile, sendHead, type SentFile } from './file-response.js';

/** A file of which the bytes never change. */
export interface AnsweredFile extends SentFile, Validators {
  /** For errors, such as `audio`. */
  what: string;
  disposition: 'attachment' | 'inline';
  filename: string;
  /** Runs while the body is sent. */
  whileSending?: (send: () => Promise<void>) => Promise<void>;
}

/**
 * Answers a GET or HEAD as RFC 9110 asks for.
 * @throws NotFoundError when the store has no such object, PreconditionFailedError, RangeNotSatisfiableError,
 *   StorageUnavailableError
 */
export async function answerWithFile(request: Request, response: Response, file: AnsweredFile): Promise<void> {
  const { what, entityTag, lastModified, size } = file;
  response.setHeader('ETag', entityTag);
  response.setHeader('Last-Modified', lastModified.toUTCString());
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Content-Disposition', contentDisposition(file.disposition, file.filename));
  const result = evaluateConditions(request.headers, file);
  if (result === 'not modified') {
    response.status(304).end();
    return;
  }
  try {
    if (result === 'failed') throw new PreconditionFailedError(`The ${what}`, entityTag);
    if (request.method === 'HEAD') return await sendHead(response, file);
    const ranges = rangesOf(request, file);
    if (ranges?.length === 0) {
      response.setHeader('Content-Range', `bytes */${size}`);
      throw new RangeNotSatisfiableError(size);
    }
    const send = () => sendFile(response, file, ranges);
    await (file.whileSending?.(send) ?? send());
  } catch (error) {
    if (!response.headersSent) removeFileHeaders(response);
    if (error instanceof ObjectNotFoundError) throw new NotFoundError(what);
    throw error;
  }
}

function rangesOf({ headers }: Request, file: AnsweredFile): ByteRange[] | null {
  const { range } = headers;
  if (range === undefined || !allowsRange(headers['if-range'] as string | undefined, file)) return null;
  return parseByteRanges(range, file.size);
}

/** They are about the file, and an error is answered instead. */
function removeFileHeaders(response: Response): void {
  const names = ['ETag', 'Last-Modified', 'Content-Disposition', 'Content-Type', 'Content-Length'];
  for (const name of names) response.removeHeader(name);
}
