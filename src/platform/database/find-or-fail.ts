import { NotFoundError } from '../errors/errors.js';
import { isResourceId } from '../http/input/resource-id.js';

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
