import { recorder } from '../../capture/recorder';
import { toast } from '../../components/toast';
import { navigate } from '../../routing/hash-location';
import { isNoteValid, noteTitle } from './details/note-form';

/** Ends the recording, sends it and shows its note where the person still waits for it, unless a tag is wrong. */
export async function sendRecording(): Promise<void> {
  const from = location.hash;
  if (!isNoteValid.value) {
    await recorder.pause();
    toast('Fix the tag, then send the recording.', { tone: 'bad' });
    if (from !== '#/record') navigate('/record');
    else document.querySelector<HTMLElement>('.tag-row [aria-invalid]')?.focus();
    return;
  }
  const recordingId = await recorder.finish();
  noteTitle.value = '';
  if (recordingId !== null && location.hash === from) navigate(`/recordings/${recordingId}`);
}
