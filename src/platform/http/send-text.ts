import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import compression from 'compression';
import type { Request, Response } from 'express';
import { weakEntityTag } from './header-values.js';

/** Shorter texts fit into one packet anyhow. */
const LEAST_COMPRESSED = 1024;

/** A text of so many characters takes about 2 ms to encode and to hand to the socket. */
const PIECE = 256 * 1024;

/** For texts alone, so that no audio and no stream of events is tried. It compresses in the thread pool of Node. */
const compress = compression({ threshold: 0, filter: () => true });

/**
 * Ends a response of which the headers are set. What is larger than 1 kB is compressed if the client takes that (D61): here
 * and not as a middleware, which costs every short response 10 µs. A long text goes out piece by piece as the client takes
 * them, because to encode the words of a long note at once holds the event loop for 100 ms (D60); its length is not known
 * before.
 */
export function sendText(response: Response, text: string): void {
  if (text.length <= LEAST_COMPRESSED) end(response, text);
  // The length of what GET would send is not known: that of the plain text would be another's.
  else compress(response.req, response, () => (response.req.method === 'HEAD' ? response.end() : end(response, text)));
}

function end(response: Response, text: string): void {
  if (text.length <= PIECE) {
    response.setHeader('Content-Length', Buffer.byteLength(text));
    response.end(text);
    return;
  }
  // A client that went away is nobody's error.
  pipeline(Readable.from(piecesOf(text)), response).catch(() => undefined);
}

function* piecesOf(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE;
    // Both halves of a surrogate pair go into one piece.
    if (text.charCodeAt(to - 1) >> 10 === 0xd800 >> 10) to -= 1;
    yield text.slice(from, to);
  }
}

/** Bytes that are the same for everybody while the process runs. The connections that wait to send them share them. */
export interface FixedContent {
  contentType: string;
  etag: string;
  plain: Buffer;
  /** By the name of the encoding in HTTP. */
  compressed: ReadonlyMap<string, Buffer>;
}

/** In the order of the server's preference: browsers name gzip first. */
const ENCODINGS = ['br', 'gzip'];

/** Ends a response of which the other headers are set: with 304 for a client that has the content. */
export function sendFixed(request: Request, response: Response, content: FixedContent): void {
  const { contentType, etag, plain, compressed } = content;
  response.setHeader('Content-Type', contentType);
  response.setHeader('ETag', etag);
  response.setHeader('Vary', 'Accept-Encoding');
  if (request.fresh) {
    response.status(304).end();
    return;
  }
  const isTaken = (encoding: string): boolean => request.acceptsEncodings(encoding, 'identity') === encoding;
  const encoding = ENCODINGS.find((name) => compressed.has(name) && isTaken(name));
  if (encoding) response.setHeader('Content-Encoding', encoding);
  const bytes = (encoding && compressed.get(encoding)) || plain;
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

/** A handler for a fixed text, which is built with the first request. */
export function fixedResponse(contentType: string, text: () => string): (request: Request, response: Response) => void {
  let content: FixedContent | undefined;
  return (request, response) => {
    content ??= toContent(contentType, Buffer.from(text()));
    sendFixed(request, response, content);
  };
}

function toContent(contentType: string, plain: Buffer): FixedContent {
  return { contentType, etag: weakEntityTag(plain), plain, compressed: new Map([['gzip', gzipSync(plain)]]) };
}
