/** Why an item needs a decision of the person. */
type ProblemCode = 'too-large' | 'format' | 'quota' | 'permission' | 'conflict' | 'unsure' | 'unreadable' | 'refused';

export interface Problem {
  code: ProblemCode;
  /** What happened. */
  message: string;
  /** What to do. */
  hint: string;
}

/**
 * - `capturing`: the microphone is recording it, or was when the browser ended
 * - `queued`: to be sent
 * - `refused`: kept until the person decides
 */
type ItemState = 'capturing' | 'queued' | 'refused';

/** Owner of what another app shared with the console, until somebody who is signed in opens it. */
export const SHARED = 'shared';

/** A recording or a file on its way to the service, as the database keeps it. */
export interface UploadItem {
  id: string;
  /** Account id; or the API key, where that may not read the account. */
  owner: string;
  kind: 'recording' | 'file';
  /** Shown as the name of the file. */
  name: string;
  /** Media type. */
  type: string;
  /** Bytes. */
  size: number;
  /** Recorded time; null for a file. */
  seconds: number | null;
  tags: Record<string, string>;
  /** English name, or two with a comma; empty to let the engine decide. */
  language: string;
  /** `auto` or how many; empty, or absent in items of earlier versions, to leave it to the account. */
  speakers?: string;
  /** The recording that the service got while it was made; its end may be missing. */
  liveId?: string;
  /** Made once, so that a repeated upload never becomes a second recording. */
  idempotencyKey: string;
  state: ItemState;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** The first attempt whose outcome is not known, and the API key that made it. */
  attempted: { at: number; by: string } | null;
  problem: Problem | null;
}

export type NewItem = Pick<
  UploadItem,
  'owner' | 'kind' | 'name' | 'type' | 'size' | 'tags' | 'language' | 'speakers' | 'state'
>;

export function newItem(fields: NewItem): UploadItem {
  const seconds = fields.kind === 'recording' ? 0 : null;
  const made = { id: randomId(), idempotencyKey: randomId(), createdAt: Date.now() };
  return { ...fields, ...made, seconds, attempted: null, problem: null };
}

/** Like `crypto.randomUUID`, which pages without TLS do not have. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
