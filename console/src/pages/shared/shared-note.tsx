import { useEffect, useMemo } from 'preact/hooks';
import type { SharedRecording } from 'vnotes';

import { CopyButton } from '../../components/copy-button';
import { Empty } from '../../components/empty';
import { formatDate } from '../../format/date';
import { formatDuration } from '../../format/duration';
import { titleOf } from '../../format/recording-title';
import { type Text, t } from '../../language/texts';
import { usePageTitle } from '../../layout/use-page-title';
import { baseUrl } from '../../session/session';
import { type AudioUrl, Playback } from '../recording/player/playback';
import { PlayerBar } from '../recording/player/player-bar';
import { type Person, personsOf } from '../recording/speakers/speakers';
import { blocksOf, hasEmptyLine } from '../recording/text/blocks';
import { heardWords, type HeardWord, wordsOf } from '../recording/text/words';
import { Reading } from '../recording/transcript/reading';
import { Transcript } from '../recording/transcript/transcript';

interface SharedNoteProps {
  note: SharedRecording;
  /** Where it opens, in seconds. */
  time: number;
  /** Asks again, once the URL of the audio has ended. */
  reopen: () => Promise<SharedRecording>;
}

/** The text with its player, to be read and heard. */
export function SharedNote({ note, time, reopen }: SharedNoteProps) {
  const title = titleOf({ ...note, title: note.title ?? undefined, upload_source: 'console' });
  usePageTitle(title);
  const playback = usePlayback(note, reopen);
  const { reading, naming } = useReading(note, playback);
  useEffect(() => {
    if (time <= 0) return;
    playback.seek(time);
    requestAnimationFrame(() => reading.show(time));
  }, [time, playback, reading]);
  return (
    <article class="shared-note">
      <header class="page-header">
        <div class="page-header-text">
          <h1 dir="auto">{title}</h1>
          <p class="muted">
            <time dateTime={`${note.created_at}Z`}>{formatDate(note.created_at)}</time> ·{' '}
            {formatDuration(note.duration_seconds)}
          </p>
        </div>
        {note.text && (
          <div class="actions">
            <CopyButton text={note.text} label={t('Copy')} />
          </div>
        )}
      </header>
      {note.audio_url !== null && <PlayerBar playback={playback} peaks={null} />}
      <section class="card note-text" aria-label={t('Transcript')}>
        {note.text ? (
          <Transcript reading={reading} naming={naming} language={note.language ?? ''} />
        ) : (
          <Empty
            title={note.status === 'processing' ? t('The text is not ready yet') : t('There is no text')}
            hint={hintOf(note.status)}
          />
        )}
      </section>
    </article>
  );
}

const HINTS: Record<string, Text> = {
  processing: 'The voice note is being transcribed. Open the link again in a few minutes.',
  transcribed: 'Nobody speaks in this voice note.',
  failed: 'The voice note could not be transcribed.',
};

function hintOf(status: string): string | undefined {
  const hint = HINTS[status];
  return hint && t(hint);
}

function usePlayback(note: SharedRecording, reopen: () => Promise<SharedRecording>): Playback {
  const playback = useMemo(() => {
    let next: Promise<SharedRecording> | null = Promise.resolve(note);
    return new Playback(async () => {
      const opened = await (next ?? reopen());
      next = null;
      return audioOf(opened);
    }, note);
  }, [note]);
  useEffect(() => () => playback.dispose(), [playback]);
  return playback;
}

/** Without audio the words are no buttons, so that nobody asks for it. */
const audioOf = ({ audio_url: path, audio_url_expires_at: end }: SharedRecording): AudioUrl => ({
  url: new URL((path ?? '').replace(/^\//, ''), baseUrl()).href,
  expires_at: end ?? '',
});

function useReading(note: SharedRecording, playback: Playback) {
  const result = useMemo(() => {
    const heard = heardWords(note.words ?? '[]');
    const personOf = personsBy(heard, note.speaker_names);
    const text = note.text ?? '';
    const words = wordsOf(text, heard, note.duration_seconds);
    const timed = note.audio_url === null ? [] : heard;
    const blocks = blocksOf(words, (label) => personOf(label).labels[0] as string, hasEmptyLine(text));
    const reading = new Reading(blocks, timed, playback);
    return { reading, naming: { personOf } };
  }, [note, playback]);
  useEffect(() => () => result.reading.dispose(), [result]);
  return result;
}

function personsBy(heard: readonly HeardWord[], names: Record<string, string>): (label: string) => Person {
  const labels = [...new Set(heard.flatMap(({ speaker }) => speaker ?? []))];
  const persons = personsOf(labels.map((speaker) => ({ speaker, name: names[speaker] ?? null, words: 0, seconds: 0 })));
  return (label) => persons.find((person) => person.labels.includes(label)) ?? (persons[0] as Person);
}
