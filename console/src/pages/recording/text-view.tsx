import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Recording, Transcription } from 'vnotes';

import { Editing } from './editing/editing';
import type { Note } from './note';
import { useOriginal } from './editing/use-original';
import type { Playback } from './player/playback';
import { PlayerBar } from './player/player-bar';
import { PlayerKeys } from './player/player-keys';
import { heardWords } from './text/words';
import { FindBar } from './transcript/find-bar';
import { Reading } from './transcript/reading';
import { Transcript } from './transcript/transcript';
import { TextTools, ToolButtons } from './transcript/text-tools';

interface TextViewProps {
  note: Note;
  transcription: Transcription;
  playback: Playback;
}

/** The text with its player: read, searched, or corrected. */
export function TextView({ note, transcription, playback }: TextViewProps) {
  const isFinding = useSignal(false);
  const isEditing = useSignal(false);
  const original = useOriginal(note, transcription);
  const shown = original.isShown.value ? (original.value.value ?? transcription) : transcription;
  const reading = useReading(shown, playback, note.recording.value as Recording);
  const find = () => {
    isEditing.value = false;
    isFinding.value = true;
  };
  return (
    <>
      <PlayerBar playback={playback} peaks={note.peaks.value}>
        {!isEditing.value && <ToolButtons reading={reading} onFind={find} />}
      </PlayerBar>
      <PlayerKeys playback={playback} reading={reading} onFind={find} />
      {isFinding.value && !isEditing.value && <FindBar reading={reading} onClose={() => (isFinding.value = false)} />}
      <Editing note={note} transcription={transcription} reading={reading} original={original} isEditing={isEditing} />
      {!isEditing.value && (
        <article class="card note-text" aria-label="Text">
          <TextTools
            note={note}
            transcription={transcription}
            original={original}
            isEditing={isEditing}
            text={shown.text}
          />
          <Transcript reading={reading} language={shown.language} />
        </article>
      )}
    </>
  );
}

function useReading(shown: Transcription, playback: Playback, { duration_seconds }: Recording): Reading {
  const reading = useMemo(
    () => new Reading(shown.text, heardWords(shown.words), playback, duration_seconds),
    [shown, playback, duration_seconds],
  );
  useEffect(() => () => reading.dispose(), [reading]);
  return reading;
}
