import type { Transcription } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Failed } from '../../../components/failed';
import { toast } from '../../../components/toast';
import { t } from '../../../language/texts';
import { differenceOf, type Part } from './changes';
import type { Correction } from './correction';
import { LeaveDialog } from './leave-dialog';

interface ConflictProps {
  correction: Correction;
  /** @param text that was discarded and is to be edited again */
  onClose: (discarded?: Correction) => void;
}

/** Somebody else has saved another text meanwhile: both are shown, and the person chooses. */
export function Conflict({ correction, onClose }: ConflictProps) {
  const theirs = correction.conflict.value as Transcription;
  const [mineParts, theirParts] = differenceOf(correction.text.value, theirs.text);
  const keepMine = async () => {
    if (!(await correction.keepMine())) return;
    toast(t('Your version is saved.'));
    onClose();
  };
  const takeTheirs = async () => {
    await correction.discard();
    onClose();
    toast(t('Your version was discarded.'), { action: { label: t('Undo'), run: () => onClose(correction) } });
  };
  return (
    <section class="conflict" aria-labelledby="conflict-title">
      <h2 id="conflict-title">{t('Someone else has changed this transcript')}</h2>
      <p>
        {t(
          'It was saved while you were editing. Your version stays on this device until you choose. Differences are highlighted.',
        )}
      </p>
      <div class="conflict-texts">
        <Side
          title={t('Your version')}
          copyLabel={t('Copy your version')}
          parts={mineParts}
          text={correction.text.value}
        />
        <Side title={t('Their version')} copyLabel={t('Copy their version')} parts={theirParts} text={theirs.text} />
      </div>
      {correction.error.value !== null && (
        <Failed error={correction.error.value} onRetry={() => void correction.keepMine()} />
      )}
      <div class="editor-actions">
        <button type="button" class="button is-primary" onClick={() => correction.goOn()}>
          {t('Keep editing mine')}
        </button>
        <button type="button" class="button" onClick={() => void takeTheirs()}>
          {t('Use theirs')}
        </button>
        <button
          type="button"
          class="button is-danger"
          disabled={correction.saving.value}
          onClick={() => void keepMine()}
        >
          {t('Overwrite theirs')}
        </button>
      </div>
      <LeaveDialog correction={correction} />
    </section>
  );
}

interface SideProps {
  title: string;
  copyLabel: string;
  parts: Part[];
  text: string;
}

function Side({ title, copyLabel, parts, text }: SideProps) {
  return (
    <div class="conflict-side">
      <h3>{title}</h3>
      <p dir="auto" class="conflict-text">
        {parts.map(({ text: part, isChanged }) => (isChanged ? <mark>{part}</mark> : part))}
      </p>
      <CopyButton text={text} label={copyLabel} />
    </div>
  );
}
