/** Days that the figures of keys and end users are kept: longer than any that can be asked for. */
const KEPT_DAYS = 400;

/** Their first day. SQL, because the clock of the database decides. */
export const KEPT_SINCE = `((now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS})`;

/** What a delta counts for in each dimension: `dimension` and `value` of the row `d`. */
export const DIMENSIONS_OF_DELTA = `(VALUES ('key', coalesce(d.key_id::text, '')), ('user', coalesce(d.user_id, '')))`;

/** Columns of figures, the same in all tables of counters. */
export const BREAKDOWN_FIGURES = ['accepted', 'transcribed', 'failed', 'duration_ms', 'bytes'] as const;
