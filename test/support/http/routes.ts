import type { NestExpressApplication } from '@nestjs/platform-express';

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
}

/** Every operation under `/v1` that the running service's router knows, as `GET /v1/recordings/:recording_id`. */
export function routesOf(app: NestExpressApplication): string[] {
  const { stack } = (app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } }).router;
  return stack.flatMap(({ route }) => {
    // The catch-all that answers unknown paths is no operation.
    if (!route?.path.startsWith('/v1/') || route.path.includes('*')) return [];
    return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`);
  });
}
