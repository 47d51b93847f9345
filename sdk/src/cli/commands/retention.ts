import type { Context } from '../context.js';
import { time } from '../terminal/format.js';

interface RetentionOptions {
  audioDays?: number | 'unlimited';
  textDays?: number | 'unlimited';
  deleteAudioAfter?: 'transcribed' | 'never';
}

/** Deletions that are shown. */
const NEXT = 20;

const daysOf = (given: number | 'unlimited' | undefined, present: number | null): number | null =>
  given === 'unlimited' ? null : (given ?? present);

/** What is not given stays. */
export async function showRetention(
  context: Context,
  { audioDays, textDays, deleteAudioAfter }: RetentionOptions,
): Promise<void> {
  const { output } = context;
  const { account } = await context.client();
  let retention = await account.retention();
  if (audioDays !== undefined || textDays !== undefined || deleteAudioAfter !== undefined) {
    const after = deleteAudioAfter === 'never' ? null : deleteAudioAfter;
    retention = await account.setRetention({
      retain_audio_days: daysOf(audioDays, retention.retain_audio_days),
      retain_text_days: daysOf(textDays, retention.retain_text_days),
      delete_audio_after: after === undefined ? retention.delete_audio_after : after,
    });
  }
  const { items: next } = await account.upcomingDeletions({ limit: NEXT });
  output.document({ ...retention, next });
  if (output.json) return;
  const { retain_audio_days: audio, retain_text_days: text, delete_audio_after: after } = retention;
  const kept = (value: number | null) => (value === null ? 'unlimited' : `${value} days`);
  output.print(`Audio       ${after ? 'until it is transcribed, at most ' : ''}${kept(audio ?? text)}`);
  output.print(`Recordings  ${kept(text)}`);
  if (next.length === 0) return;
  output.print('');
  output.table(next, [
    { title: 'ID', value: ({ recording_id: id }) => id },
    { title: 'DELETES', value: ({ deletes }) => deletes },
    { title: 'WHEN', value: ({ expires_at: at }) => time(at, output.forPeople) },
    { title: 'ON HOLD', value: ({ on_hold: held }) => (held ? 'yes' : ''), optional: 1 },
  ]);
}
