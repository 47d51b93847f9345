import type { Member } from 'vnotes';

import { Badge } from '../../components/badge';
import { toast } from '../../components/toast';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { formatAge } from '../../format/date';
import { ask } from '../../session/ask';
import { may } from '../../session/permissions';
import { session } from '../../session/session';
import { useSignInWays } from '../../session/sign-in-ways';
import { mayGive, ROLES } from './roles';

interface Props {
  members: readonly Member[];
  onChanged: () => void;
  onRemove: (member: Member) => void;
  onLink: (member: Member) => void;
}

/** Those who may, change others here; oneself one changes on the page of one's own sign-in. */
export function MemberTable({ members, onChanged, onRemove, onLink }: Props) {
  const { busy, error, run } = useSubmit();
  const setRole = (member: Member, role: string) =>
    void run(async () => {
      try {
        await ask('PATCH', `account/members/${member.id}`, { role });
        toast(`${member.name} is ${role} now.`);
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
  onRole: (role: string) => void;
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
          {name} {isOwn && <Badge tone="accent">You</Badge>}
        </span>
        <span class="muted small">{email}</span>
      </span>
      <span class="muted small">{last_seen_at === null ? 'Not seen yet' : `Seen ${formatAge(last_seen_at)}`}</span>
      {mayChange ? (
        <>
          <select
            class="input"
            aria-label={`Role of ${name}`}
            disabled={isBusy}
            value={role}
            onChange={(event) => onRole(event.currentTarget.value)}
          >
            {ROLES.filter((one) => mayGive(one.role)).map((one) => (
              <option key={one.role} value={one.role}>
                {one.role}
              </option>
            ))}
          </select>
          {ways.includes('link') && (
            <button type="button" class="button" aria-label={`Sign-in link for ${name}`} onClick={onLink}>
              Sign-in link
            </button>
          )}
          <button type="button" class="button is-danger" aria-label={`Remove ${name}`} onClick={onRemove}>
            Remove
          </button>
        </>
      ) : (
        <Badge>{role}</Badge>
      )}
    </li>
  );
}
