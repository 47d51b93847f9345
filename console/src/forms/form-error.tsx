import { describeError } from '../components/describe-error';
import { Icon } from '../components/icon';
import { t } from '../language/texts';

/** Why a form or a button failed, where no field of it is the cause. Nothing without an error. */
export function FormError({ error }: { error: unknown }) {
  if (!error) return null;
  const { title, hint, requestId } = describeError(error);
  return (
    <div class="notice is-bad" role="alert">
      <Icon name="alert" />
      <p>
        <strong>{title}.</strong> <span dir="auto">{hint}</span>
        {requestId !== null && (
          <>
            {' '}
            {t('Request ID')} <code>{requestId}</code>.
          </>
        )}
      </p>
    </div>
  );
}
