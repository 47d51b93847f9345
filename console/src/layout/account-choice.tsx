import type { Session } from 'vnotes';

import { toast } from '../components/toast';
import { describeError } from '../components/describe-error';
import { t } from '../language/texts';
import { ask } from '../session/ask';
import { session } from '../session/session';

/** Whether one may be chosen. A session that began with a link stays in its account. */
export const hasChoice = (): boolean =>
  session.value !== null && session.value.memberships.length > 1 && session.value.began_with !== 'link';

/** For a person of several accounts. What is shown belongs to one of them, so the console is loaded again for another. */
export function AccountChoice() {
  if (!session.value || !hasChoice()) return null;
  const { memberships, account_id } = session.value;
  return (
    <select
      class="input"
      aria-label={t('Account')}
      value={account_id}
      onChange={(event) => void switchTo(event.currentTarget.value)}
    >
      {memberships.map((membership) => (
        <option key={membership.id} value={membership.account_id}>
          {membership.account_name}
        </option>
      ))}
    </select>
  );
}

export async function switchTo(accountId: string): Promise<void> {
  try {
    await ask<Session>('PATCH', 'session', { account_id: accountId });
    location.hash = '';
    location.reload();
  } catch (error) {
    toast(describeError(error).title);
  }
}
