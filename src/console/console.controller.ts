import { randomBytes } from 'node:crypto';
import { Controller, Get, Header, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../access/access.decorators.js';
import { Env } from '../platform/config/env.js';
import { UnknownPathError } from '../platform/errors/errors.js';
import { sendFixed } from '../platform/http/send-text.js';
import { ConsoleFilesService, type PagePath, setFileHeaders, setPageHeaders } from './console-files.service.js';

const NONCE_BYTES = 18;

/** Serves the files of the built console. They are the same for everybody: people sign in afterwards. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  constructor(private readonly files: ConsoleFilesService) {}

  /** @throws UnknownPathError while the console is not built. */
  @Get()
  @Public()
  showPage(@Res() response: Response): void {
    this.send('/', response);
  }

  /** What links of `POST /v1/recordings/{id}/shares` show (D96): their token is behind the `#`, and never sent. */
  @Get('shared')
  @Public()
  showShared(@Res() response: Response): void {
    response.setHeader('X-Robots-Tag', 'noindex, nofollow');
    this.send('/shared', response);
  }

  private send(path: PagePath, response: Response): void {
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    const page = this.files.pageWith(nonce, path);
    if (page === null)
      throw new UnknownPathError('The console is not built: run `npm run build`. The API is under /v1.');
    setPageHeaders(response, nonce);
    response.setHeader('Content-Length', Buffer.byteLength(page));
    response.end(page);
  }

  @Get(['icon.svg', 'icon-512.png', 'manifest.webmanifest', 'service-worker.js', 'assets/:name'])
  @Public()
  sendFile(@Req() request: Request, @Res() response: Response): void {
    const file = this.files.find(request.path);
    if (!file) throw new UnknownPathError('No such file of the console. Reload the page if the service was updated.');
    setFileHeaders(response, request.path);
    sendFixed(request, response, file);
  }
}

/** What a Host header may show on the page: anything else could carry markup. */
const PLAIN_HOST = /^[A-Za-z0-9.:[\]-]{1,255}$/;

/** The page at `/` of a service without the console, for people who open its address in a browser. */
@ApiExcludeController()
@Controller()
export class HomeController {
  @Get()
  @Public()
  @Header('Content-Type', 'text/html; charset=utf-8')
  show(@Req() request: Request): string {
    const { protocol } = request;
    const host = request.get('host') ?? '';
    const baseUrl = PLAIN_HOST.test(host) ? `${protocol === 'https' ? 'https' : 'http'}://${host}/v1` : '/v1';
    return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Voice Note Transcription Service</title></head>
  <body>
    <h1>Voice Note Transcription Service</h1>
    <p>Base URL of the API: <code>${baseUrl}</code></p>
    <p>Documentation: <a href="/docs">/docs</a></p>
    <p>OpenAPI description: <a href="/openapi.json">/openapi.json</a></p>
  </body>
</html>
`;
  }
}

const DAY_MS = 86_400_000;
/** The operator need not touch a file: what the running service says is valid for this long. RFC 9116 advises against a year. */
const VALID_DAYS = 90;

/** Where to report vulnerabilities of this installation (RFC 9116). */
@ApiExcludeController()
@Controller()
export class SecurityTextController {
  constructor(private readonly env: Env) {}

  /** @throws UnknownPathError without SECURITY_CONTACT. */
  @Get('.well-known/security.txt')
  @Public()
  show(@Res({ passthrough: true }) response: Response): string {
    const { securityContact } = this.env;
    if (securityContact.length === 0) throw new UnknownPathError('This service names no contact for security reports.');
    response.setHeader('Content-Type', 'text/plain; charset=utf-8');
    // The same text for a whole day.
    const expires = new Date((Math.floor(Date.now() / DAY_MS) + VALID_DAYS) * DAY_MS);
    const contacts = securityContact.map((uri) => `Contact: ${uri}\n`);
    return `${contacts.join('')}Expires: ${expires.toISOString().replace('.000', '')}\nPreferred-Languages: en\n`;
  }
}
