/** A kind of event that webhooks can subscribe to. */
export interface EventKind {
  /** Lower-case words with a dot, such as `recording.failed`. */
  kind: string;
  /** When the event is sent, for the OpenAPI document. */
  description: string;
}

/** Every registered kind. Validation and the OpenAPI document read it, and decorators need it before injection. */
export const EVENT_KINDS: string[] = [];
const descriptions = new Map<string, string>();

/** Registering a kind again replaces its description. Extensions use `WebhookEventsService.register`. */
export function registerEventKind({ kind, description }: EventKind): void {
  if (!descriptions.has(kind)) EVENT_KINDS.push(kind);
  descriptions.set(kind, description);
}

registerEventKind({ kind: 'recording.transcribed', description: 'A transcription is ready.' });
registerEventKind({ kind: 'recording.failed', description: 'A recording could not be transcribed.' });
