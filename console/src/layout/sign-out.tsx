import { signal } from '@preact/signals';
import { ApiError } from 'vnotes';

import { Dialog } from '../components/dialog';
import { toast } from '../components/toast';
import { t } from '../language/texts';
import { account } from '../session/account';
import { ask } from '../session/ask';
import { baseUrl, session, signOut } from '../session/session';
import { askedCode, exchange } from '../session/sign-in-link';
import { discardItem } from '../uploads/uploads';
import { uploads } from '../uploads/upload-list';

const isAsking = signal(false);

/** What would be lost. A recording that is under way ends and stays on the device. */
const unsent = () => uploads.value.filter(({ phase }) => phase !== 'sent' && phase !== 'recording');

/** Signing out empties what the browser keeps: it asks first when that is more than a copy. */
export function askToSignOut(): void {
  if (unsent().length > 0) isAsking.value = true;
  else void leave();
}

/** The session of a person ends in the service first, without a network nobody is signed out, and then at its provider. */
async function leave(): Promise<void> {
  try {
    if (session.value) await ask('DELETE', 'session');
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) {
      toast(t('You are still signed in: the service cannot be reached.'));
      return;
    }
  }
  const provider = session.value?.provider;
  signOut();
  if (provider !== undefined) location.assign(`${baseUrl()}sign-in/${provider}/end`);
}

/** The questions before another account, or none, is signed in. */
export function SignOutDialogs() {
  const discard = async () => {
    await Promise.all(unsent().map(({ item }) => discardItem(item.id)));
    isAsking.value = false;
    await leave();
  };
  const stay = () => (isAsking.value = false);
  const stayHere = () => (askedCode.value = null);
  return (
    <>
      <Dialog open={isAsking.value} title={t('Sign out and delete unsent recordings?')} onClose={stay}>
        <p>
          {t(
            '{count, plural, one {# recording on this device has} other {# recordings on this device have}} not been uploaded. Signing out deletes everything that this browser keeps.',
            { count: unsent().length },
          )}
        </p>
        <div class="dialog-actions">
          <button type="button" class="button is-primary" onClick={stay}>
            {t('Stay signed in')}
          </button>
          <button type="button" class="button is-danger" onClick={() => void discard()}>
            {t('Sign out and delete')}
          </button>
        </div>
      </Dialog>
      <Dialog open={askedCode.value !== null} title={t('Sign in with this link?')} onClose={stayHere}>
        <p>
          {account.value
            ? t('You are signed in to {account}.', { account: account.value.name })
            : t('You are signed in.')}{' '}
          {t(
            'If you use this link, you are signed out and signed in with the key that created it. New recordings then go to the account of that key.',
          )}
        </p>
        <div class="dialog-actions">
          <button type="button" class="button is-primary" onClick={stayHere}>
            {t('Stay signed in')}
          </button>
          <button type="button" class="button" onClick={() => void exchange(askedCode.value ?? '')}>
            {t('Use the link')}
          </button>
        </div>
      </Dialog>
    </>
  );
}
