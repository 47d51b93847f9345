import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { LevelMeter } from '../../capture/level-meter';
import { recorder } from '../../capture/recorder';
import { formatDuration, spokenDuration } from '../../format/duration';
import { useShortcut } from '../../hooks/use-shortcut';
import { t } from '../../language/texts';
import { DiscardDialog } from './discard-dialog';
import { ItemPlayer } from './item-player';
import { LiveSwitch, LiveText } from './live-text';
import { MicrophoneSelect, microphoneId } from './microphone-select';
import { describeNote, isNoteValid } from './details/note-form';
import { RecorderControls } from './recorder-controls';
import { RecorderProblems } from './recorder-problems';
import { sendRecording } from './send-recording';
import './recorder-card.css';

/** Shorter ones go without a question. */
const QUESTION_SECONDS = 5;

export function RecorderCard() {
  const [asks, setAsks] = useState(false);
  const main = useRef<HTMLButtonElement>(null);
  useShortcut('r', t('Record, pause or resume'), () => main.current?.click());
  useFocusAfterRecording(main);
  useDescription();
  const discard = () => (recorder.seconds.value > QUESTION_SECONDS ? setAsks(true) : void recorder.discard());
  const session = recorder.session.value;
  const state = recorder.state.value;
  const seconds = Math.floor(recorder.seconds.value);
  return (
    <section class={`card recorder is-${state}`} aria-label={t('Recorder')}>
      <div class="recorder-stage">
        <div class="recorder-time numbers" role="timer" aria-label={spokenDuration(seconds)}>
          {formatDuration(seconds)}
        </div>
        <LevelMeter monitor={session?.level ?? null} paused={state === 'paused'} />
        <p class="recorder-status" role="status">
          {statusOf()}
        </p>
      </div>
      <RecorderProblems />
      {recorder.live.value && <LiveText live={recorder.live.value} />}
      {state === 'paused' && session && <ItemPlayer item={session.writer.item} />}
      <RecorderControls main={main} onStart={start} onSend={() => void sendRecording()} onDiscard={discard} />
      {(state === 'idle' || state === 'starting') && (
        <>
          <LiveSwitch />
          <MicrophoneSelect disabled={state === 'starting'} />
        </>
      )}
      <DiscardDialog open={asks} onClose={() => setAsks(false)} />
    </section>
  );
}

function start(): void {
  const now = new Date();
  void recorder.start(microphoneId.value, (type) => describeNote(type, now));
}

function statusOf(): string {
  switch (recorder.state.value) {
    case 'idle':
      return t('Press Record and start speaking.');
    case 'starting':
      return t('Waiting for the microphone. Your browser may ask for permission.');
    case 'recording':
      return recorder.session.value?.level.silent.value
        ? t('No sound detected. Is the microphone muted?')
        : recorder.live.value?.state.value === 'on'
          ? t('Recording. The audio is sent while you speak.')
          : t('Recording. The audio is kept in this browser until it is sent.');
    case 'paused':
      return t('Paused');
    default:
      return t('Saving…');
  }
}

/** The buttons that ended the recording are gone: the keyboard goes on at the one that stays. */
function useFocusAfterRecording(main: { current: HTMLButtonElement | null }): void {
  const was = useRef(recorder.state.peek());
  const state = recorder.state.value;
  useEffect(() => {
    if (was.current === 'saving' && state === 'idle' && document.activeElement === document.body) main.current?.focus();
    was.current = state;
  }, [state]);
}

/** What the form says goes with the recording, also if the browser ends before it is sent. */
function useDescription(): void {
  useSignalEffect(() => {
    const session = recorder.session.value;
    if (session && isNoteValid.value) recorder.describe(describeNote(session.type, session.startedAt));
  });
}
