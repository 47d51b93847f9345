import { NotFoundError } from '../errors/errors.js';

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Postgres also takes `{uuid}` and undashed spellings; an id of ours is canonical or does not exist (D1). */
export const isResourceId = (text: string): boolean => CANONICAL_UUID.test(text);

/**
 * The resource with this id, as `find` reads it.
 * @param what for the message, such as `recording`
 * @throws NotFoundError when the id cannot be one, or `find` gives null.
 */
export async function findOrFail<Found>(
  what: string,
  id: string,
  find: (id: string) => Promise<Found | null>,
): Promise<Found> {
  const found = isResourceId(id) ? await find(id) : null;
  if (found === null) throw new NotFoundError(what);
  return found;
}
