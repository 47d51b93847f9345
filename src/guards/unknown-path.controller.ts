import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Express, Request } from 'express';
import { Public } from '../access/access.decorators.js';
import { UnknownPathError } from '../platform/errors/errors.js';
import { knownMethods } from '../platform/http/server/known-methods.js';

/** Whatever no other controller answers: 404 with or without credentials, but limited like everything else (D6). */
@ApiExcludeController()
@Controller()
export class UnknownPathController {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  @All(['v1', 'v1/*path'])
  @Public()
  refuse(@Req() request: Request): never {
    const methods = knownMethods(this.adapterHost.httpAdapter.getInstance<Express>(), request.path);
    if (methods.length === 0) throw new UnknownPathError('No such path. The paths of the API are listed at /docs.');
    throw new UnknownPathError(`${request.method} is not supported on this path. Use ${methods.join(' or ')}.`);
  }
}
