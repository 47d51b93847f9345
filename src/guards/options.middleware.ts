import { HttpStatus, Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { AddressLimitService } from './plan-throttler.guard.js';
import { isApiRequest } from '../platform/http/server/request-line.js';

/** OPTIONS needs no credentials and takes no token (D6): browsers send it before every request from a page. */
@Injectable()
export class OptionsMiddleware implements NestMiddleware {
  constructor(private readonly addressLimit: AddressLimitService) {}

  /** Sets the limit headers. The CORS middleware answers preflight requests; `answer` answers the others. */
  async use(request: Request, response: Response, next: NextFunction): Promise<void> {
    if (request.method === 'OPTIONS' && isApiRequest(request)) await this.addressLimit.showHeaders(request, response);
    next();
  }

  answer(request: Request, response: Response, next: NextFunction): void {
    if (request.method === 'OPTIONS') response.status(HttpStatus.NO_CONTENT).end();
    else next();
  }
}
