import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import type { Recording, Transcription } from 'vnotes';

import { onceMoved } from '../../layout/scrolling';
import { Editing } from './editing/editing';
import type { Note } from './note';
import { type Original, useOriginal } from './editing/use-original';
import type { Playback } from './player/playback';
import { PlayerBar } from './player/player-bar';
import { PlayerKeys } from './player/player-keys';
import { Solo } from './player/solo';
import { SpeakerPanel } from './speakers/speaker-panel';
import { type HeardWord, heardWords, type TextWord, trustCorrections, wordsOf } from './text/words';
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
  const hit = useHit();
  const isFinding = useSignal(hit.peek() !== '');
  const isEditing = useSignal(false);
  const leftAt = useSignal<number | null>(null);
  const openedAt = useRef(0);
  const original = useOriginal(note, transcription);
  const shown = original.isShown.value ? (original.value.value ?? transcription) : transcription;
  const reading = useReading(shown, original, playback, note);
  const solo = useSolo(playback, reading);
  // Again when the text is drawn anew, as below.
  useEffect(() => {
    if (hit.peek() !== '') reading.open(hit.peek());
  }, [reading]);
  const find = () => {
    isEditing.value = false;
    isFinding.value = true;
  };
  // While the text is still on the page, where it is in the window tells where the person reads.
  const edit = () => {
    openedAt.current = reading.placeInTime();
    isEditing.value = true;
  };
  // The person goes on reading where they corrected.
  useEffect(() => {
    if (isEditing.value || leftAt.value === null) return undefined;
    document.querySelector<HTMLElement>('[data-focus="correct"]')?.focus({ preventScroll: true });
    return onceMoved(() => (leftAt.value = null));
  }, [isEditing.value, leftAt.value]);
  // Again when the text is drawn anew, as when the original has come that tells which words are sure.
  useEffect(() => {
    if (!isEditing.value && leftAt.value !== null) reading.show(leftAt.value);
  }, [isEditing.value, leftAt.value, reading]);
  const closeFinding = () => {
    isFinding.value = false;
    document.querySelector<HTMLElement>('[data-focus="find"]')?.focus();
  };
  return (
    <>
      <PlayerBar playback={playback} peaks={note.peaks.value}>
        {!isEditing.value && <ToolButtons reading={reading} onFind={find} />}
      </PlayerBar>
      <PlayerKeys playback={playback} reading={reading} onFind={find} />
      {isFinding.value && !isEditing.value && <FindBar reading={reading} found={hit.peek()} onClose={closeFinding} />}
      <Editing
        note={note}
        transcription={transcription}
        reading={reading}
        original={original}
        isEditing={isEditing}
        openedAt={openedAt}
        onEdit={edit}
        onClose={(time) => (leftAt.value = time)}
      />
      {!isEditing.value && (
        <article class="card note-text" aria-label="Transcript and tools">
          <TextTools note={note} transcription={transcription} original={original} onEdit={edit} text={shown.text} />
          <SpeakersProblem note={note} />
          <SpeakerPanel naming={note.naming} solo={solo} stretchesOf={({ labels }) => reading.stretchesOf(labels)} />
          <Transcript reading={reading} naming={note.naming} language={shown.language} />
        </article>
      )}
    </>
  );
}

/** The words with which a search led here, until the person moves. */
function useHit(): Signal<string> {
  const [search] = useSearchParams();
  const hit = useSignal(search.get('find') ?? '');
  useEffect(() => onceMoved(() => (hit.value = '')), [hit]);
  return hit;
}

function useReading(shown: Transcription, original: Original, playback: Playback, note: Note): Reading {
  const { duration_seconds: duration } = note.recording.value as Recording;
  const identity = note.naming.identity.value;
  const heard = shown.version === 'corrected' ? original.value.value : null;
  const reading = useMemo(() => {
    const [words, reported] = textWords(shown, duration);
    const trusted = heard ? trustCorrections(words, textWords(heard, duration)[0]) : words;
    return new Reading(trusted, reported, playback, (label) => note.naming.personOf(label).labels[0] as string);
  }, [shown, heard, playback, duration, identity]);
  useEffect(() => () => reading.dispose(), [reading]);
  // What a person has written is sure. Only the original tells what that is.
  useEffect(() => {
    if (shown.version === 'corrected' && reading.unsure.length > 0) void original.load({ isQuiet: true });
  }, [shown, reading]);
  return reading;
}

/** It ends when somebody corrects the text, or says who is who: then its stretches are others. */
function useSolo(playback: Playback, reading: Reading): Solo {
  const solo = useMemo(() => new Solo(playback), [playback]);
  useEffect(() => () => solo.end(), [solo, reading]);
  return solo;
}

/** They were asked for, and could not be told apart. */
function SpeakersProblem({ note }: { note: Note }) {
  const problem = note.recording.value?.features?.speakers_problem;
  if (!problem) return null;
  return (
    <p class="speakers-problem muted small">
      Speakers are not told apart. <bdi>{problem}</bdi>
    </p>
  );
}

function textWords({ text, words }: Transcription, durationSeconds: number): [TextWord[], HeardWord[]] {
  const reported = heardWords(words);
  return [wordsOf(text, reported, durationSeconds), reported];
}
