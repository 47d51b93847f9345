import { useSignal } from '@preact/signals';

import { Dialog } from '../components/dialog';
import { type Shortcut, shortcuts, useShortcut } from '../hooks/use-shortcut';
import { t } from '../language/texts';

const ARROWS: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
};

/** All keys of the page that is open, by `?`. */
export function ShortcutHelp() {
  const open = useSignal(false);
  useShortcut('?', t('Show keyboard shortcuts'), () => (open.value = true), { isGlobal: true });
  return (
    <Dialog open={open.value} title={t('Keyboard shortcuts')} onClose={() => (open.value = false)}>
      <dl class="shortcut-list">
        {uniqueShortcuts().map(({ key, label }) => (
          <div key={key}>
            <dt>
              <kbd>{key === ' ' ? t('Space') : (ARROWS[key] ?? key)}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** The one that would run for each key; those of the page first. */
function uniqueShortcuts(): Shortcut[] {
  const byKey = new Map<string, Shortcut>();
  for (const shortcut of shortcuts.value.toReversed()) {
    if (!byKey.has(shortcut.key)) byKey.set(shortcut.key, shortcut);
  }
  return [...byKey.values()];
}
