import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { JsonBody } from './json-body.js';

/** Interceptors run after the guards and before the pipe that reads the body. */
@Injectable()
class JsonBodyLimitInterceptor implements NestInterceptor {
  constructor(private readonly maxBytes: number) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<Request>();
    if (body instanceof JsonBody) body.maxBytes = this.maxBytes;
    return next.handle();
  }
}

/** Lets one handler take a larger JSON body than the others. */
export const JsonBodyLimit = (maxBytes: number): MethodDecorator =>
  UseInterceptors(new JsonBodyLimitInterceptor(maxBytes));
