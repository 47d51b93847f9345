import type { NestExpressApplication } from '@nestjs/platform-express';

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
}

/**
 * Every operation under `/v1` that the running application routes, as `GET /v1/account`, read from Express's own
 * stack: what stands there can be called, whatever a table of ours says. Without the catch-all, which answers 404.
 */
export function routesOf(app: NestExpressApplication): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } };
  return router.stack
    .flatMap(({ route }) => (route ? [route].flat() : []))
    .flatMap(({ path, methods }) => [path].flat().map((one) => ({ path: one, methods: Object.keys(methods) })))
    .filter(({ path }) => path.startsWith('/v1/') && !path.includes('*'))
    .flatMap(({ path, methods }) => methods.map((method) => `${method.toUpperCase()} ${path}`))
    .toSorted();
}
