/** Every kind of event that webhooks can subscribe to. Extensions add theirs before the application is created. */
export const EVENT_KINDS: string[] = ['recording.transcribed', 'recording.failed', 'transcription.corrected'];

/** Kinds that are in the feed only: no webhook can subscribe to them (D40). */
const FEED_KINDS = ['recording.accepted', 'recording.deleted'] as const;
export type FeedKind = (typeof FEED_KINDS)[number];

/** Registering a kind again changes nothing. @param kind lower-case words with a dot, such as `keyword.matched` */
export function registerEventKind(kind: string): void {
  if ((FEED_KINDS as readonly string[]).includes(kind)) throw new Error(`${kind} is a kind of the event feed`);
  if (!EVENT_KINDS.includes(kind)) EVENT_KINDS.push(kind);
}
