import { useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { Icon } from '../../components/icon';
import { t } from '../../language/texts';
import { recordingBar } from '../../layout/layout';
import { PageHeader } from '../../layout/page-header';
import { chooseFiles } from '../../uploads/file-picker';
import { formDetails, newNoteDetails } from '../../uploads/new-note-details';
import { addFiles } from '../../uploads/uploads';
import { isNoteValid, noteLanguages, noteSpeakers, noteTags } from './details/note-form';
import { NoteFields } from './details/note-fields';
import { RecorderCard } from './recorder-card';
import { RecordingBar } from './recording-bar';
import { tagsOf } from './details/tag-rules';
import { UnsentRecordings } from './unsent-recordings';
import './record-page.css';

recordingBar.value = RecordingBar;

export default function RecordPage() {
  useFormForFiles();
  return (
    <>
      <PageHeader
        title={t('Record')}
        hint={t('Record a note, or upload audio files of up to 25 MB.')}
        actions={
          <button type="button" class="button" onClick={() => void upload()}>
            <Icon name="upload" />
            {t('Upload files')}
          </button>
        }
      />
      <div class="record-page">
        <div class="stack">
          <RecorderCard />
          <UnsentRecordings />
        </div>
        <NoteFields />
      </div>
    </>
  );
}

async function upload(): Promise<void> {
  await addFiles(await chooseFiles(), newNoteDetails());
}

/** Files that are added on this page, also by dropping them, get its language, tags and speakers. */
function useFormForFiles(): void {
  useSignalEffect(() => {
    const tags = isNoteValid.value ? tagsOf(noteTags.value) : {};
    formDetails.value = { language: noteLanguages.value, tags, speakers: noteSpeakers.value };
  });
  useEffect(() => () => void (formDetails.value = null), []);
}
