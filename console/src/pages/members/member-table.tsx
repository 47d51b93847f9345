import type { Member } from 'vnotes';

import { Badge } from '../../components/badge';
import { toast } from '../../components/toast';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatAge } from '../../format/date';
import { t } from '../../language/texts';
import { ask } from '../../session/ask';
import { may } from '../../session/permissions';
import { session } from '../../session/session';
import { useSignInWays } from '../../session/sign-in-ways';
import { mayGive, type Role, ROLES } from './roles';

interface Props {
  members: readonly Member[];
  onChanged: () => void;
  onRemove: (member: Member) => void;
  onLink: (member: Member) => void;
}

/** Those who may, change others here; oneself one changes on the page of one's own sign-in. */
export function MemberTable({ members, onChanged, onRemove, onLink }: Props) {
  const { busy, error, run } = useSubmit();
  const setRole = (member: Member, role: Role) =>
    void run(async () => {
      try {
        await ask('PATCH', `account/members/${member.id}`, { role });
        toast(t('{name} is {role} now.', { name: member.name, role: t(role) }));
      } finally {
        onChanged();
      }
    });
  return (
    <>
      <FormError error={error.value} />
      <ul class="people">
        {members.map((member) => (
          <MemberRow
            key={member.id}
            member={member}
            isBusy={busy.value}
            onRole={(role) => setRole(member, role)}
            onRemove={() => onRemove(member)}
            onLink={() => onLink(member)}
          />
        ))}
      </ul>
    </>
  );
}

interface RowProps {
  member: Member;
  isBusy: boolean;
  onRole: (role: Role) => void;
  onRemove: () => void;
  onLink: () => void;
}

function MemberRow({ member, isBusy, onRole, onRemove, onLink }: RowProps) {
  const { name, email, role, last_seen_at, person_id } = member;
  const { ways } = useSignInWays();
  const isOwn = person_id === session.value?.person.id;
  const mayChange = session.value !== null && may('account:write') && mayGive(role) && !isOwn;
  return (
    <li>
      <span class="people-name" dir="auto">
        <span>
          {name} {isOwn && <Badge tone="accent">{t('You')}</Badge>}
        </span>
        <span class="muted small">{email}</span>
      </span>
      <span class="muted small">
        {last_seen_at === null ? t('Not seen yet') : t('Seen {age}', { age: formatAge(last_seen_at) })}
      </span>
      {mayChange ? (
        <>
          <select
            class="input"
            aria-label={t('Role of {name}', { name })}
            disabled={isBusy}
            value={role}
            onChange={(event) => onRole(event.currentTarget.value as Role)}
          >
            {ROLES.filter((one) => mayGive(one.role)).map((one) => (
              <option key={one.role} value={one.role}>
                {t(one.role)}
              </option>
            ))}
          </select>
          {ways.includes('link') && (
            <button type="button" class="button" aria-label={t('Sign-in link for {name}', { name })} onClick={onLink}>
              {t('Sign-in link')}
            </button>
          )}
          <button type="button" class="button is-danger" aria-label={t('Remove {name}', { name })} onClick={onRemove}>
            {t('Remove')}
          </button>
        </>
      ) : (
        <Badge>{t(role)}</Badge>
      )}
    </li>
  );
}
