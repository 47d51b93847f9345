import type { Transcription } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Failed } from '../../../components/failed';
import { toast } from '../../../components/toast';
import { differenceOf } from './changes';
import type { Correction } from './correction';

/** Somebody else has saved another text meanwhile: both are shown, and the person chooses. */
export function Conflict({ correction, onClose }: { correction: Correction; onClose: () => void }) {
  const theirs = correction.conflict.value as Transcription;
  const { before, changed, after } = differenceOf(correction.text.value, theirs.text);
  const keepMine = async () => {
    if (!(await correction.keepMine())) return;
    toast('Your text is saved.');
    onClose();
  };
  const takeTheirs = async () => {
    await correction.discard();
    onClose();
  };
  return (
    <section class="conflict" aria-labelledby="conflict-title">
      <h2 id="conflict-title">Somebody else has changed this text</h2>
      <p>It was saved while you were editing. Nothing is lost: choose which text is to stay.</p>
      <div class="conflict-texts">
        <Side title="Yours" parts={[before, changed[0], after]} text={correction.text.value} />
        <Side title="Saved meanwhile" parts={[before, changed[1], after]} text={theirs.text} />
      </div>
      {correction.error.value !== null && (
        <Failed error={correction.error.value} onRetry={() => void correction.keepMine()} />
      )}
      <div class="editor-actions">
        <button
          type="button"
          class="button is-primary"
          disabled={correction.saving.value}
          onClick={() => void keepMine()}
        >
          Save mine
        </button>
        <button type="button" class="button" onClick={() => void takeTheirs()}>
          Take theirs
        </button>
        <button type="button" class="button" onClick={() => correction.goOn()}>
          Go on editing mine
        </button>
      </div>
    </section>
  );
}

function Side({ title, parts, text }: { title: string; parts: [string, string, string]; text: string }) {
  return (
    <div class="conflict-side">
      <h3>{title}</h3>
      <p dir="auto" class="conflict-text">
        {parts[0]}
        {parts[1] === '' ? null : <mark>{parts[1]}</mark>}
        {parts[2]}
      </p>
      <CopyButton text={text} label={`Copy: ${title.toLowerCase()}`} />
    </div>
  );
}
