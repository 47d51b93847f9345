import { signal } from '@preact/signals';
import { ApiError } from 'vnotes';

import { Dialog } from '../components/dialog';
import { toast } from '../components/toast';
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
      toast('You are still signed in: the service cannot be reached.');
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
      <Dialog open={isAsking.value} title="Sign out and delete unsent recordings?" onClose={stay}>
        <p>
          {unsent().length === 1
            ? '1 recording on this device has not been uploaded.'
            : `${unsent().length} recordings on this device have not been uploaded.`}{' '}
          Signing out deletes everything that this browser keeps.
        </p>
        <div class="dialog-actions">
          <button type="button" class="button is-primary" onClick={stay}>
            Stay signed in
          </button>
          <button type="button" class="button is-danger" onClick={() => void discard()}>
            Sign out and delete
          </button>
        </div>
      </Dialog>
      <Dialog open={askedCode.value !== null} title="Sign in with this link?" onClose={stayHere}>
        <p>
          You are signed in{account.value ? ` to ${account.value.name}` : ''}. If you use this link, you are signed out
          and signed in with the key that created it. New recordings then go to the account of that key.
        </p>
        <div class="dialog-actions">
          <button type="button" class="button is-primary" onClick={stayHere}>
            Stay signed in
          </button>
          <button type="button" class="button" onClick={() => void exchange(askedCode.value ?? '')}>
            Use the link
          </button>
        </div>
      </Dialog>
    </>
  );
}
