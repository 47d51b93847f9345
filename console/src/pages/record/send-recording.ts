import { recorder } from '../../capture/recorder';
import { toast } from '../../components/toast';
import { navigate } from '../../routing/hash-location';
import { hideArrived } from '../../uploads/upload-list';
import { isNoteValid, noteTitle } from './details/note-form';
import { t } from '../../language/texts';

/** Ends the recording and sends it, unless a tag is wrong. Where the person still waits, its note takes its place. */
export async function sendRecording(): Promise<void> {
  const from = location.hash;
  if (!isNoteValid.value) {
    await recorder.pause();
    toast(t('Fix the tag, then send the recording.'), { tone: 'bad' });
    if (from !== '#/record') navigate('/record');
    else document.querySelector<HTMLElement>('.tag-row [aria-invalid]')?.focus();
    return;
  }
  const recordingId = await recorder.finish();
  noteTitle.value = '';
  if (recordingId === null || location.hash !== from) return;
  hideArrived(recordingId);
  navigate(`/recordings/${recordingId}`);
}
