import type { ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';

/** Whether a handler has a `@Body()` parameter. */
export const takesBody = (context: ExecutionContext): boolean => takes(context, RouteParamtypes.BODY);

/** Whether a handler has a `@Query()` parameter. */
export const takesQuery = (context: ExecutionContext): boolean => takes(context, RouteParamtypes.QUERY);

/** Nest notes the parameters of a handler on its class, under keys such as `3:0`: kind and index. */
function takes(context: ExecutionContext, kind: RouteParamtypes): boolean {
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), context.getHandler().name) as
    | Record<string, unknown>
    | undefined;
  return Object.keys(parameters ?? {}).some((key) => key.startsWith(`${kind}:`));
}
