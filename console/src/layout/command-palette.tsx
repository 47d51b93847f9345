import { signal } from '@preact/signals';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

import { Dialog } from '../components/dialog';
import { Icon, type IconName } from '../components/icon';
import { titleOf } from '../format/recording-title';
import { shortcuts } from '../hooks/use-shortcut';
import { t } from '../language/texts';
import { navigate } from '../routing/hash-location';
import { api } from '../session/api';
import { may } from '../session/permissions';
import { ACCOUNT_PAGES, isOffered, NOTE_PAGES } from './pages';
import './command-palette.css';

/** A request costs the account a token: only once the person has stopped typing. */
const TYPING_MS = 250;
const MOST_NOTES = 8;

interface Command {
  id: string;
  label: string;
  icon: IconName;
  /** The key that does the same without the palette. */
  shortcut?: string;
  run: () => void;
}

const isOpen = signal(false);

/** Every page, what the open page can do, and every note, by Ctrl K. */
export function CommandPalette() {
  useEffect(() => {
    addEventListener('keydown', listen);
    return () => {
      removeEventListener('keydown', listen);
      isOpen.value = false;
    };
  }, []);
  return (
    <Dialog open={isOpen.value} title={t('Go to')} onClose={close}>
      <Palette />
    </Dialog>
  );
}

export function CommandPaletteButton() {
  return (
    <button type="button" class="nav-link palette-button" onClick={() => (isOpen.value = true)}>
      <Icon name="keyboard" />
      <span>{t('Go to')}</span>
      <kbd>Ctrl K</kbd>
    </button>
  );
}

function Palette() {
  const [words, setWords] = useState('');
  const [current, setCurrent] = useState(0);
  const notes = useNotes(words);
  const groups = [
    { name: t('Pages'), commands: matching(pageCommands(), words) },
    { name: t('On this page'), commands: matching(actionCommands(), words) },
    { name: t('Recordings'), commands: notes },
  ].filter(({ commands }) => commands.length > 0);
  const commands = groups.flatMap((group) => group.commands);
  const chosen = commands[Math.min(current, commands.length - 1)];
  const list = useId();
  const optionId = ({ id }: Command) => `${list}-${id}`;
  const move = (by: number) =>
    setCurrent((Math.min(current, commands.length - 1) + by + commands.length) % commands.length);
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => chosen && follow(chosen),
  };
  useEffect(() => {
    if (chosen) document.getElementById(optionId(chosen))?.scrollIntoView({ block: 'nearest' });
  }, [chosen?.id]);
  return (
    <div class="palette">
      <input
        class="input"
        type="text"
        autofocus
        role="combobox"
        aria-label={t('Page, action or recording')}
        aria-expanded="true"
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={chosen && optionId(chosen)}
        placeholder={t('Page, action or recording')}
        autocomplete="off"
        spellcheck={false}
        value={words}
        onInput={({ currentTarget }) => {
          setWords(currentTarget.value);
          setCurrent(0);
        }}
        onKeyDown={(event) => {
          const run = keys[event.key];
          if (!run || event.isComposing) return;
          event.preventDefault();
          run();
        }}
      />
      <div id={list} class="palette-list" role="listbox" aria-label={t('What there is')}>
        {groups.map((group) => (
          <div key={group.name} role="group" aria-label={group.name}>
            <p class="palette-group" aria-hidden="true">
              {group.name}
            </p>
            {group.commands.map((command) => (
              <div
                key={command.id}
                id={optionId(command)}
                role="option"
                aria-selected={command === chosen}
                class="palette-option"
                onClick={() => follow(command)}
              >
                <Icon name={command.icon} />
                <span dir="auto">{command.label}</span>
                {command.shortcut && <kbd>{command.shortcut}</kbd>}
              </div>
            ))}
          </div>
        ))}
      </div>
      <p class={commands.length > 0 ? 'visually-hidden' : 'muted'} role="status">
        {commands.length > 0 ? t('{count} found', { count: commands.length }) : t('Nothing has these words.')}
      </p>
    </div>
  );
}

function pageCommands(): Command[] {
  return [...NOTE_PAGES, ...ACCOUNT_PAGES]
    .filter(isOffered)
    .map(({ path, title, icon }) => ({ id: `page-${path}`, label: t(title), icon, run: () => navigate(path) }));
}

/** What has a key on the open page, or everywhere. */
function actionCommands(): Command[] {
  const byKey = new Map(shortcuts.value.map((shortcut) => [shortcut.key, shortcut]));
  return [...byKey.values()].map(({ key, label, run }, index) => ({
    id: `action-${index}`,
    label,
    icon: 'chevron-right',
    ...(key.length === 1 && key !== ' ' && { shortcut: key }),
    run: () => run(new KeyboardEvent('keydown', { key })),
  }));
}

function matching(commands: Command[], words: string): Command[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return commands.filter(({ label }) => wanted.every((word) => label.toLowerCase().includes(word)));
}

/** What the service finds, once the person stops typing; until then what was found before. */
function useNotes(words: string): Command[] {
  const [notes, setNotes] = useState<Command[]>([]);
  const isSearch = /[\p{L}\p{N}]{2}/u.test(words) && may('recordings:read');
  const request = useRef(new AbortController());
  useEffect(() => {
    request.current = new AbortController();
    const { signal: aborted } = request.current;
    if (!isSearch) setNotes([]);
    const timer = setTimeout(() => {
      if (!isSearch) return;
      const query = { q: words.slice(0, 1000), limit: MOST_NOTES, include: 'title' } as const;
      api()
        .recordings.list(query, { signal: aborted })
        .then(
          ({ recordings }) =>
            setNotes(
              recordings.map((recording) => ({
                id: `note-${recording.id}`,
                label: titleOf(recording),
                icon: 'waveform',
                run: () => navigate(`/recordings/${recording.id}`),
              })),
            ),
          () => aborted.aborted || setNotes([]),
        );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      request.current.abort();
    };
  }, [words]);
  return notes;
}

/** After the dialog has closed and given the focus back: what runs may move it. */
function follow(command: Command): void {
  close();
  setTimeout(command.run);
}

function close(): void {
  isOpen.value = false;
}

function listen(event: KeyboardEvent): void {
  const isAsked =
    event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  // Another dialog has a question that goes first.
  if (!isAsked || (!isOpen.value && document.querySelector('dialog[open]'))) return;
  event.preventDefault();
  isOpen.value = !isOpen.value;
}
