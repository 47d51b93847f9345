import type { Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { toast } from '../../../components/toast';
import { formatDuration } from '../../../format/duration';
import { rich, t } from '../../../language/texts';
import { may } from '../../../session/permissions';
import { Menu, MenuItem } from '../panels/menu';
import { toastError } from '../panels/notice';
import type { Solo, Stretch } from '../player/solo';
import { type NameDraft, SpeakerForm } from './speaker-form';
import { NAMES_CHANGED, NamesChangedError, type SpeakerNaming } from './speaker-naming';
import type { Person } from './speakers';

interface SpeakerRowProps {
  person: Person;
  naming: SpeakerNaming;
  /** Of one person at a time. */
  draft: Signal<NameDraft | null>;
  solo: Solo;
  stretches: () => Stretch[];
}

export function SpeakerRow({ person, naming, draft, solo, stretches }: SpeakerRowProps) {
  const typed = draft.value;
  const type = (text: string) => typed && (draft.value = { ...typed, text });
  const begin = () => (draft.value = { labels: person.labels, text: person.name ?? '' });
  const row = useRef<HTMLLIElement>(null);
  const close = () => {
    const { activeElement } = document;
    draft.value = null;
    // Who types in the text meanwhile goes on there.
    if (activeElement !== document.body && !row.current?.contains(activeElement)) return;
    // Once it is drawn.
    setTimeout(() => row.current?.querySelector<HTMLElement>('.speaker-name')?.focus());
  };
  return (
    <li class={`speaker is-speaker-${person.colour}`} ref={row}>
      {typed && person.labels.includes(typed.labels[0] as string) ? (
        <SpeakerForm person={person} draft={typed} onType={type} naming={naming} onClose={close} />
      ) : (
        <>
          <Name person={person} onRename={begin} />
          <p class="speaker-share muted small numbers">
            {t('{count, plural, one {# word} other {# words}}', { count: person.words })} ·{' '}
            {formatDuration(person.seconds)}
          </p>
          <div class="speaker-actions">
            <PlayAlone person={person} solo={solo} stretches={stretches} />
            {may('recordings:write') && <PersonMenu person={person} naming={naming} onRename={begin} />}
          </div>
        </>
      )}
    </li>
  );
}

function Name({ person, onRename }: { person: Person; onRename: () => void }) {
  if (!may('recordings:write')) {
    return (
      <p class="speaker-name">
        <bdi>{person.title}</bdi>
      </p>
    );
  }
  return (
    <button
      type="button"
      class="speaker-name"
      aria-label={t('Rename {name}', { name: person.title })}
      onClick={onRename}
    >
      <bdi>{person.title}</bdi>
      <Icon name="edit" size={16} />
    </button>
  );
}

/** The same button ends it. */
function PlayAlone({ person, solo, stretches }: Omit<SpeakerRowProps, 'naming' | 'draft'>) {
  const id = person.labels[0] as string;
  const isOn = solo.who.value === id;
  const { title: name } = person;
  const label = isOn ? t('Stop playing {name} alone', { name }) : t('Play {name} alone', { name });
  return (
    <button
      type="button"
      class="button is-quiet is-icon"
      aria-label={label}
      title={label}
      onClick={() => (isOn ? solo.stop() : void solo.play(id, stretches()))}
    >
      <Icon name={isOn ? 'stop' : 'play'} />
    </button>
  );
}

function PersonMenu({
  person,
  naming,
  onRename,
}: Pick<SpeakerRowProps, 'person' | 'naming'> & { onRename: () => void }) {
  const others = naming.persons.value.filter((other) => other !== person);
  const merge = (other: Person) =>
    change(naming.merge(person, other), t('{name} and {other} are one.', { name: person.title, other: other.title }));
  return (
    <Menu label={t('More for {name}', { name: person.title })} icon="more" iconOnly>
      {/* The menu gives the focus back before the field takes it. */}
      <MenuItem icon="edit" onClick={() => setTimeout(onRename)}>
        {t('Rename…')}
      </MenuItem>
      {others.map((other) => (
        <MenuItem key={other.labels[0]} icon="user" onClick={() => void merge(other)}>
          {rich('Merge with <name></name>', { name: () => <bdi>{other.title}</bdi> })}
        </MenuItem>
      ))}
      {person.labels.length > 1 && (
        <MenuItem icon="undo" onClick={() => void change(naming.separate(person), t('They are separate again.'))}>
          {t('Separate')}
        </MenuItem>
      )}
    </Menu>
  );
}

/** Says what was done, with a way back. */
async function change(done: Promise<() => Promise<void>>, text: string): Promise<void> {
  try {
    const takeBack = await done;
    toast(text, { action: { label: t('Undo'), run: () => void takeBack().catch(explain) } });
  } catch (error) {
    explain(error);
  }
}

function explain(error: unknown): void {
  if (error instanceof NamesChangedError) toast(t(NAMES_CHANGED), { tone: 'bad' });
  else toastError(t('The speakers could not be changed.'), error);
}
