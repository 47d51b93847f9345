import type { Webhook } from 'vnotes';
import { type Text } from '../../language/texts';

export type EventKind = Webhook['events'][number];

/** What a webhook can be told of. */
export const EVENT_KINDS: readonly { kind: EventKind; meaning: Text }[] = [
  { kind: 'recording.transcribed', meaning: 'The transcript of a recording is ready.' },
  { kind: 'recording.failed', meaning: 'A recording could not be transcribed.' },
  { kind: 'transcription.corrected', meaning: 'A transcript was corrected, or its original restored.' },
  { kind: 'recording.partial', meaning: 'A part of a long transcript is ready. Holds its text.' },
];
