import type { ApiError } from './errors.js';

/** How the errors of some paths are written. */
export interface ErrorShape {
  body: (error: ApiError) => object;
  /** For the OpenAPI document. */
  schemaName: string;
  schema: object;
  appliesTo: (path: string) => boolean;
}

const shapes: ErrorShape[] = [];

/** For paths whose clients expect errors of another service. Registering a shape again changes nothing. */
export function registerErrorShape(shape: ErrorShape): void {
  if (!shapes.includes(shape)) shapes.push(shape);
}

/** @param url of the request. Null where errors are written as everywhere. */
export function errorShapeOf(url: string): ErrorShape | null {
  if (shapes.length === 0) return null;
  const [path = ''] = url.split('?', 1);
  return shapes.find((shape) => shape.appliesTo(path)) ?? null;
}

/**
 * The envelope of an error; a refused rate limit also says `success: false`.
 * @param url of the request, where it is known.
 */
export function errorBody(error: ApiError, url = ''): object {
  const shape = errorShapeOf(url);
  if (shape) return shape.body(error);
  const { code, message, type, details, status } = error;
  return status === 429
    ? { success: false, error: { code, message, type, details } }
    : { error: { code, message, type, details } };
}
