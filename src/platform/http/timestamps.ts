/**
 * The three forms in which the service writes a time (D2), all UTC. Nobody else formats a date: a second place
 * would sooner or later disagree with this one.
 */

const SECONDS_LENGTH = 'YYYY-MM-DDTHH:MM:SS'.length;

/** A field of a resource: `2026-11-21T10:15:00`. The fraction is cut off, not rounded, so that no time lies ahead. */
export function resourceTime(date: Date): string {
  return date.toISOString().slice(0, SECONDS_LENGTH);
}

/** A field of the answer that creates an API key, an access token or a webhook: `2026-11-21T10:15:00.250Z`. */
export function creationTime(date: Date): string {
  return date.toISOString();
}

/** A field of an event's body: `2026-11-21T10:15:00Z`. */
export function eventTime(date: Date): string {
  return `${resourceTime(date)}Z`;
}
