import { randomBytes } from 'node:crypto';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../access/access.decorators.js';
import { UnknownPathError } from '../platform/errors/errors.js';
import { ConsoleFilesService } from './console-files.service.js';
import { setFileHeaders, setPageHeaders } from './console-headers.js';

const NONCE_BYTES = 18;
/** In the order of the server's preference: browsers name gzip first. */
const ENCODINGS = ['br', 'gzip'] as const;

/** Serves the files of the built console. They are the same for everybody: people sign in afterwards. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  constructor(private readonly files: ConsoleFilesService) {}

  /** @throws UnknownPathError while the console is not built. */
  @Get()
  @Public()
  showPage(@Res() response: Response): void {
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    const page = this.files.pageWith(nonce);
    if (page === null)
      throw new UnknownPathError('The console is not built: run `npm run build`. The API is under /v1.');
    setPageHeaders(response, nonce);
    response.setHeader('Content-Length', Buffer.byteLength(page));
    response.end(page);
  }

  @Get(['icon.svg', 'assets/:name'])
  @Public()
  sendFile(@Req() request: Request, @Res() response: Response): void {
    const file = this.files.find(request.path);
    if (!file) throw new UnknownPathError('No such file of the console. Reload the page if the service was updated.');
    setFileHeaders(response, request.path);
    response.setHeader('Content-Type', file.contentType);
    response.setHeader('ETag', file.etag);
    response.setHeader('Vary', 'Accept-Encoding');
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const encoding = ENCODINGS.find((name) => file.compressed.has(name) && request.acceptsEncodings(name) === name);
    const bytes = encoding ? (file.compressed.get(encoding) as Buffer) : file.plain;
    if (encoding) response.setHeader('Content-Encoding', encoding);
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  }
}
