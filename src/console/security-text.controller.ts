import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../access/access.decorators.js';
import { Env } from '../platform/config/env.js';
import { UnknownPathError } from '../platform/errors/errors.js';

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
