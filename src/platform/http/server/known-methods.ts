import type { Express } from 'express';

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
