import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';
import type { Recording, Transcription } from 'vnotes';

import { t } from '../../language/texts';
import { onceMoved } from '../../layout/scrolling';
import { may } from '../../session/permissions';
import { Conflict } from './editing/conflict';
import { DraftNotice } from './editing/draft-notice';
import { Editor, EditTools } from './editing/editor';
import { LeaveDialog } from './editing/leave-dialog';
import { useEditing } from './editing/use-editing';
import { type Original, useOriginal } from './editing/use-original';
import type { Note } from './note';
import type { Playback } from './player/playback';
import { PlayerBar } from './player/player-bar';
import { PlayerKeys } from './player/player-keys';
import { Solo } from './player/solo';
import { SpeakerPanel } from './speakers/speaker-panel';
import { type Block, blocksOf, isDivided } from './text/blocks';
import { heardWords, trustCorrections, wordsOf } from './text/words';
import { FindBar } from './transcript/find-bar';
import { Reading } from './transcript/reading';
import { Transcript } from './transcript/transcript';
import { FindButton, TextTools } from './transcript/text-tools';

interface TextViewProps {
  note: Note;
  transcription: Transcription;
  playback: Playback;
}

/** The text with its player: read, searched, or corrected where it stands. */
export function TextView({ note, transcription, playback }: TextViewProps) {
  const hit = useHit();
  const isFinding = useSignal(hit.peek() !== '');
  const original = useOriginal(note, transcription);
  const shown = original.isShown.value ? (original.value.value ?? transcription) : transcription;
  const reading = useReading(shown, original, playback, note);
  const solo = useSolo(playback, reading);
  const editing = useEditing({
    note,
    transcription,
    original,
    reading,
    blocksOf: (text) => textBlocks({ ...transcription, text, version: 'corrected' }, null, note),
  });
  const begun = editing.begun.value;
  const isReading = begun === null;
  // Again when the text is drawn anew, as below.
  useEffect(() => {
    if (hit.peek() !== '') reading.open(hit.peek());
  }, [reading]);
  const find = () => (isFinding.value = true);
  const closeFinding = () => {
    isFinding.value = false;
    document.querySelector<HTMLElement>('[data-focus="find"]')?.focus();
  };
  const save = () => void editing.save();
  if (begun?.conflict.value) return <Conflict correction={begun} onClose={editing.close} />;
  return (
    <>
      <div class="note-bar">
        <PlayerBar playback={playback} peaks={note.peaks.value}>
          {isReading && <FindButton onFind={find} />}
        </PlayerBar>
        {begun ? (
          <EditTools correction={begun} onSave={save} onClose={editing.close} />
        ) : (
          <TextTools
            note={note}
            reading={reading}
            transcription={transcription}
            original={original}
            onEdit={() => editing.open()}
            text={shown.text}
          />
        )}
      </div>
      <PlayerKeys
        playback={playback}
        reading={isReading ? reading : null}
        onFind={find}
        onCorrect={may('recordings:write') ? () => editing.open() : undefined}
      />
      {isFinding.value && isReading && <FindBar reading={reading} found={hit.peek()} onClose={closeFinding} />}
      {isReading && <DraftNotice draft={editing.draft} onContinue={() => editing.open()} />}
      <article class="card note-text" aria-label={t('Transcript and tools')}>
        <SpeakersProblem note={note} />
        <SpeakerPanel naming={note.naming} solo={solo} stretchesOf={({ labels }) => reading.stretchesOf(labels)} />
        {begun ? (
          <Editor
            correction={begun}
            place={editing.place}
            playback={playback}
            naming={note.naming}
            language={shown.language}
            isTimed={reading.isTimed}
            onSave={save}
          />
        ) : (
          <Transcript
            reading={reading}
            naming={note.naming}
            language={shown.language}
            {...(may('recordings:write') && { onCorrect: editing.open })}
          />
        )}
      </article>
      {begun && <LeaveDialog correction={begun} />}
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
  const reading = useMemo(
    () => new Reading(textBlocks(shown, heard, note), heardWords(shown.words), playback),
    [shown, heard, playback, duration, identity],
  );
  useEffect(() => () => reading.dispose(), [reading]);
  // What a person has written is sure. Only the original tells what that is.
  const hasUnsure = reading.unsure.value.length > 0;
  useEffect(() => {
    if (shown.version === 'corrected' && hasUnsure) void original.load({ isQuiet: true });
  }, [shown, hasUnsure]);
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
      {t('Speakers are not told apart.')} <bdi>{problem}</bdi>
    </p>
  );
}

/** @param heard the original, of a text that was corrected: it tells which words are sure */
function textBlocks(shown: Transcription, heard: Transcription | null, note: Note): Block[] {
  const { duration_seconds: duration } = note.recording.peek() as Recording;
  const [words, original] = [shown, heard].map((text) =>
    text ? wordsOf(text.text, heardWords(text.words), duration) : null,
  );
  const trusted = original ? trustCorrections(words ?? [], original) : (words ?? []);
  const personOf = (label: string) => note.naming.personOf(label).labels[0] as string;
  return blocksOf(trusted, personOf, shown.version === 'corrected' && isDivided(shown.text));
}
