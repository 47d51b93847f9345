import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/** A text of so many characters takes about 2 ms to encode and to hand to the socket. */
const PIECE = 256 * 1024;

/**
 * Ends a response of which the headers are set. A long text goes out piece by piece as the client takes them, because to
 * encode the words of a long note at once holds the event loop for 100 ms (D60); its length is not known before.
 */
export function sendText(response: Response, text: string): void {
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
