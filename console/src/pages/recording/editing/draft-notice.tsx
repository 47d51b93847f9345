import type { Signal } from '@preact/signals';

import { formatAge } from '../../../format/date';
import { t } from '../../../language/texts';
import { may } from '../../../session/permissions';
import { Notice } from '../panels/notice';
import { type Draft, readDraft, removeDraft } from './drafts';

interface DraftNoticeProps {
  draft: Signal<Draft | null>;
  onContinue: () => void;
}

/** A draft that waits for its owner. */
export function DraftNotice({ draft, onContinue }: DraftNoticeProps) {
  if (!draft.value || !may('recordings:write')) return null;
  const { id, recordingId, savedAt } = draft.value;
  const discard = async () => {
    await removeDraft(id);
    // Another tab may have left one, too.
    draft.value = await readDraft(recordingId);
  };
  return (
    <Notice icon="edit">
      <p>{t('You have an unsaved correction from {age}.', { age: formatAge(new Date(savedAt).toISOString()) })}</p>
      <div class="actions">
        <button type="button" class="button is-primary" onClick={onContinue}>
          {t('Continue')}
        </button>
        <button type="button" class="button" onClick={() => void discard()}>
          {t('Discard draft')}
        </button>
      </div>
    </Notice>
  );
}
