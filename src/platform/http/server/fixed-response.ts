import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import { weakEntityTag } from '../input/entity-tags.js';

interface Built {
  etag: string;
  plain: Buffer;
  gzipped: Buffer;
}

/**
 * A handler for a text that is the same for everybody while the process runs. It is built once, and the connections that
 * wait to send it share its bytes.
 */
export function fixedResponse(contentType: string, text: () => string): (request: Request, response: Response) => void {
  let built: Built | undefined;
  return (request, response) => {
    built ??= prepare(text());
    response.setHeader('Content-Type', contentType);
    response.setHeader('ETag', built.etag);
    response.setHeader('Vary', 'Accept-Encoding');
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const isGzipped = request.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
    const bytes = isGzipped ? built.gzipped : built.plain;
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  };
}

function prepare(text: string): Built {
  const plain = Buffer.from(text);
  return { etag: weakEntityTag(plain), plain, gzipped: gzipSync(plain) };
}
