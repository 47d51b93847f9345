import { t } from '../language/texts';
import './states.css';

/** Something is on its way. It appears after a moment only: what is quick shall not flicker. */
export function Loading({ label = t('Loading…') }: { label?: string }) {
  return (
    <p class="state is-loading" role="status">
      <span class="loading-wave" aria-hidden="true">
        <i />
        <i />
        <i />
        <i />
        <i />
      </span>
      {label}
    </p>
  );
}
