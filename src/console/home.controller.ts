import { Controller, Get, Header, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../access/access.decorators.js';

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
