import { t } from '../../language/texts';

/** The shape of the list, so that the page does not jump when it comes. */
export function ListSkeleton() {
  return (
    <div class="card list-card" role="status">
      <span class="visually-hidden">{t('Loading recordings…')}</span>
      <div class="list-skeleton" aria-hidden="true">
        {Array.from({ length: 8 }, (_, i) => (
          <div key={i} class="skeleton-row">
            <i class="skeleton-title" />
            <i class="skeleton-fact" />
          </div>
        ))}
      </div>
    </div>
  );
}
