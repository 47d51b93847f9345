const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Postgres also takes `{uuid}` and undashed spellings; an id of ours is canonical or does not exist (D1). */
export const isResourceId = (text: string): boolean => CANONICAL_UUID.test(text);
