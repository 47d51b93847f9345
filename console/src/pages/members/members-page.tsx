import { useSignal } from '@preact/signals';
import type { Invitation, InvitationPage, Member, MemberPage, SignInLink } from 'vnotes';

import { Dialog } from '../../components/dialog';
import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Pager } from '../../components/pager/pager';
import { toast } from '../../components/toast';
import { FormActions } from '../../forms/form-actions';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { rich, t, type Text } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { ShownOnce } from '../../secrets/shown-once';
import { ask } from '../../session/ask';
import { may } from '../../session/permissions';
import { session } from '../../session/session';
import { InviteForm } from './invite-form';
import { MemberTable } from './member-table';
import './members.css';

const PAGE_SIZE = 50;

/** A link as a person gets it, who has no other way to this service. */
const linkOf = (path: string): string => new URL(path, location.href).href;

export default function MembersPage() {
  const page = useSignal(0);
  const query = `page=${page.value}&limit=${PAGE_SIZE}`;
  const members = useAsync(() => ask<MemberPage>('GET', `account/members?${query}`), [query]);
  const invitations = useAsync(() => ask<InvitationPage>('GET', 'account/invitations?limit=100'), []);
  const inviting = useSignal(false);
  const removing = useSignal<Member | null>(null);
  const linking = useSignal<Member | null>(null);
  const shown = useSignal<{ title: string; hint: string; url: string } | null>(null);
  const mayChange = session.value !== null && may('account:write');
  return (
    <div class="stack">
      <PageHeader
        title={t('Members')}
        hint={t('The people of this account, and what each may do.')}
        actions={
          mayChange ? (
            <button type="button" class="button is-primary" onClick={() => (inviting.value = true)}>
              <Icon name="plus" />
              {t('Invite')}
            </button>
          ) : (
            <p class="not-permitted muted small">{t('Administrators and owners who have signed in invite others.')}</p>
          )
        }
      />
      <section class="card" aria-labelledby="members-title">
        <header class="card-header">
          <h2 id="members-title">{t('People')}</h2>
        </header>
        {members.error ? (
          <Failed error={members.error} onRetry={members.reload} />
        ) : !members.value ? (
          <Loading label={t('Loading members…')} />
        ) : members.value.total === 0 ? (
          <Empty
            icon="user"
            title={t('No members yet')}
            hint={t('The operator of the service makes a link for the first owner.')}
          />
        ) : (
          <MemberTable
            members={members.value.members}
            onChanged={members.reload}
            onRemove={(member) => (removing.value = member)}
            onLink={(member) => (linking.value = member)}
          />
        )}
        {members.value && members.value.total > PAGE_SIZE && (
          <div class="card-body">
            <Pager
              page={page.value}
              total={members.value.total}
              pageSize={PAGE_SIZE}
              onPage={(next) => (page.value = next)}
            />
          </div>
        )}
      </section>
      <Invitations
        invitations={invitations.value?.invitations ?? []}
        mayChange={mayChange}
        onChanged={invitations.reload}
      />
      <Dialog open={inviting.value} title={t('Invite somebody')} onClose={() => (inviting.value = false)}>
        <InviteForm
          onClose={() => (inviting.value = false)}
          onCreated={({ email, url }) => {
            inviting.value = false;
            if (url === null) toast(t('Invitation sent to {email}.', { email }));
            else
              shown.value = {
                title: t('Invitation created'),
                hint: t('Send this link to {email}. Anyone who has it can join once, within 7 days.', { email }),
                url: linkOf(url),
              };
            invitations.reload();
          }}
        />
      </Dialog>
      <Confirm
        member={removing.value}
        title="Remove this member?"
        words="<b>{name}</b> is signed out of this account at once. API keys that this person has made stay."
        label="Remove"
        onClose={() => (removing.value = null)}
        onConfirm={async ({ id }) => {
          await ask('DELETE', `account/members/${id}`);
          toast(t('Member removed.'));
          members.reload();
          invitations.reload();
        }}
      />
      <Confirm
        member={linking.value}
        title="Create a sign-in link?"
        words="<b>{name}</b> signs in with it once, within a day, and sets a new password. Anyone who has the link can act as this person."
        label="Create link"
        onClose={() => (linking.value = null)}
        onConfirm={async ({ id, name, email }) => {
          const { url } = await ask<SignInLink>('POST', `account/members/${id}/links`);
          if (url === null) toast(t('Link sent to {email}.', { email }));
          else
            shown.value = {
              title: t('Link created'),
              hint: t('Send this link to {name} alone.', { name }),
              url: linkOf(url),
            };
        }}
      />
      {shown.value && (
        <ShownOnce
          title={shown.value.title}
          hint={shown.value.hint}
          secrets={[{ label: t('Link'), value: shown.value.url }]}
          onDone={() => (shown.value = null)}
        />
      )}
    </div>
  );
}

interface ConfirmProps {
  /** Null while the dialog is closed. */
  member: Member | null;
  title: Text;
  /** What the member does then, or what happens to the member. */
  words: Text;
  label: Text;
  onClose: () => void;
  onConfirm: (member: Member) => Promise<void>;
}

function Confirm({ member, title, words, label, onClose, onConfirm }: ConfirmProps) {
  const { busy, error, run } = useSubmit();
  const confirm = () =>
    void run(async () => {
      if (member) await onConfirm(member);
      onClose();
    });
  return (
    <Dialog open={member !== null} title={t(title)} onClose={onClose}>
      <p>{rich(words, { name: member?.name, b: (name) => <strong dir="auto">{name}</strong> })}</p>
      <FormError error={error.value} />
      <FormActions
        label={t(label)}
        busyLabel={t('One moment…')}
        isBusy={busy.value}
        isDanger={label === 'Remove'}
        onCancel={onClose}
        onConfirm={confirm}
      />
    </Dialog>
  );
}

interface InvitationsProps {
  invitations: readonly Invitation[];
  mayChange: boolean;
  onChanged: () => void;
}

function Invitations({ invitations, mayChange, onChanged }: InvitationsProps) {
  const { error, run } = useSubmit();
  if (invitations.length === 0) return null;
  const withdraw = ({ id }: Invitation) =>
    void run(async () => {
      await ask('DELETE', `account/invitations/${id}`);
      toast(t('Invitation withdrawn.'));
      onChanged();
    });
  return (
    <section class="card" aria-labelledby="invitations-title">
      <header class="card-header">
        <h2 id="invitations-title">{t('Open invitations')}</h2>
      </header>
      <FormError error={error.value} />
      <ul class="people">
        {invitations.map((invitation) => (
          <li key={invitation.id}>
            <span class="people-name" dir="auto">
              {invitation.email}
            </span>
            <span class="muted small">
              {t('as {role}, until {date}', { role: t(invitation.role), date: formatDate(invitation.expires_at) })}
            </span>
            {mayChange && (
              <button
                type="button"
                class="button"
                aria-label={t('Withdraw the invitation of {email}', { email: invitation.email })}
                onClick={() => withdraw(invitation)}
              >
                {t('Withdraw')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
