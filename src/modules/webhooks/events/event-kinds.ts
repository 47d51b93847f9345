/** Every kind of event that webhooks can subscribe to. Extensions add theirs before the application is created. */
export const EVENT_KINDS: string[] = ['recording.transcribed', 'recording.failed'];

/** Registering a kind again changes nothing. @param kind lower-case words with a dot, such as `keyword.matched` */
export function registerEventKind(kind: string): void {
  if (!EVENT_KINDS.includes(kind)) EVENT_KINDS.push(kind);
}
