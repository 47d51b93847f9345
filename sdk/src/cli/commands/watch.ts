import type { AccountEvent, VoiceNotes } from '../../index.js';
import type { Context } from '../context.js';
import type { Output } from '../terminal/output.js';
import { clock, duration, tagsOf, timeOf } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { statusColour } from '../terminal/status-colour.js';
import { transcriptOf } from '../uploads/transcripts.js';

interface WatchOptions {
  after?: number;
  text?: boolean;
  count?: number;
}

export async function watch(context: Context, { after, text, count }: WatchOptions): Promise<void> {
  const { output } = context;
  const client = await context.client();
  output.note('Waiting for events. Ctrl-C ends.');
  let seen = 0;
  for await (const event of client.events.stream({ after: after ?? 'latest' })) {
    const said = text && hasText(event) ? await textOf(client, event) : null;
    if (output.json) output.jsonLine(text ? { ...event, text: said } : event);
    else printEvent(event, said, output);
    seen += 1;
    if (seen === count) return;
  }
}

interface EventBody {
  timestamp?: string;
  recording?: { id?: string; duration?: number; custom_tags?: Record<string, string> };
  partial?: { text?: string };
  error?: { message?: string };
}

/** A line for people, with the text if there is one. */
export function printEvent(event: AccountEvent, said: string | null, output: Output): void {
  const { timestamp, recording, error }: EventBody = event.body;
  const kind = event.event.replace(/^recording\./, '');
  const colour = statusColour(kind);
  const parts = [
    output.paint('dim', clock(timestamp === undefined ? new Date() : timeOf(timestamp))),
    colour ? output.paint(colour, kind.padEnd(11)) : kind.padEnd(11),
    recording?.id ?? '',
    recording?.duration === undefined ? '' : duration(recording.duration),
    oneLine(tagsOf(recording?.custom_tags ?? null)),
    oneLine(error?.message ?? ''),
  ];
  output.print(parts.filter((part) => part !== '').join('  '));
  if (said !== null) output.print(`          ${oneLine(said)}`);
}

const WITH_TEXT = new Set(['recording.transcribed', 'transcription.corrected', 'recording.partial']);
const hasText = ({ event }: AccountEvent) => WITH_TEXT.has(event);

/** Null if the recording was deleted meanwhile. */
async function textOf(client: VoiceNotes, event: AccountEvent): Promise<string | null> {
  const { recording, partial }: EventBody = event.body;
  if (partial) return partial.text ?? null;
  if (recording?.id === undefined) return null;
  return await transcriptOf(client, recording.id, 'text').then(
    (text) => text.trimEnd(),
    () => null,
  );
}
