import { t } from '../../../language/texts';
import { markUnsureBelow, UNSURE_LEVELS, unsureBelow } from '../text/unsure';
import './unsure-tools.css';

interface UnsureToolsProps {
  count: number;
  /** Whether any word is unsure at one of the levels. */
  isOffered: boolean;
  onNext: () => void;
}

/** How many words are unsure, the way to the next one, and from where on a word counts as sure. */
export function UnsureTools({ count, isOffered, onNext }: UnsureToolsProps) {
  if (!isOffered) return null;
  const level = unsureBelow.value;
  return (
    <div class="unsure-tools">
      {level > 0 && (
        <button type="button" class="button is-quiet" disabled={count === 0} onClick={onNext}>
          <span class="unsure-count">{t('{count, number} unsure', { count })}</span>
          <span class="visually-hidden">{t('words, go to the next')}</span>
        </button>
      )}
      <label class="unsure-level">
        <span class="visually-hidden">{t('Mark words below this confidence')}</span>
        <select value={String(level)} onChange={(event) => markUnsureBelow(Number(event.currentTarget.value))}>
          {UNSURE_LEVELS.map((one) => (
            <option key={one} value={String(one)}>
              {one === 0 ? t('Unsure: off') : `< ${Math.round(one * 100)}%`}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
