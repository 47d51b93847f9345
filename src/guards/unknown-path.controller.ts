import { All, Controller, Module, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Express } from 'express';
import { Public } from '../access/access.decorators.js';
import { UnknownPathError } from '../platform/errors/errors.js';
import type { CheckedRequest } from '../platform/http/server/request-line.js';

/**
 * Answers every request under `/v1` that has no handler. A controller rather than Express's own 404, so that the guards
 * run: such a request is limited like every other, and answered with or without credentials (D6).
 */
@ApiExcludeController()
@Controller()
class UnknownPathController {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  @All(['v1', 'v1/{*path}'])
  @Public()
  refuse(@Req() request: CheckedRequest): never {
    if (request.requestLineError) throw request.requestLineError;
    const methods = knownMethods(this.adapterHost.httpAdapter.getInstance<Express>(), request.path);
    if (methods.length === 0) throw new UnknownPathError('No such path. The paths of the API are listed at /docs.');
    throw new UnknownPathError(`${request.method} is not supported on this path. Use ${methods.join(' or ')}.`);
  }
}

@Module({ controllers: [UnknownPathController] })
export class UnknownPathModule {}

/** The part of Express's router that is read here: fields of the package `router` 2. */
interface Layer {
  match(path: string): boolean;
  route?: { path: string | string[]; methods: Record<string, boolean> };
}

/** The methods that a path has, such as `['GET', 'POST']`; none for an unknown path. Catch-all routes do not count. */
export function knownMethods(app: Express, path: string): string[] {
  const { stack } = app.router as unknown as { stack: Layer[] };
  const routes = stack.flatMap((layer) => (layer.route && layer.match(path) ? [layer.route] : []));
  const methods = routes
    .filter((route) => typeof route.path === 'string' && !route.path.includes('*'))
    .flatMap((route) => Object.keys(route.methods));
  return [...new Set(methods)].map((method) => method.toUpperCase());
}
