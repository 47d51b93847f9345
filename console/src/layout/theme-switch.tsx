import { Icon, type IconName } from '../components/icon';
import { t, type Text } from '../language/texts';
import { type Theme, theme } from '../session/theme';

const CHOICES: [Theme, Text, IconName][] = [
  ['system', 'System', 'monitor'],
  ['light', 'Light', 'sun'],
  ['dark', 'Dark', 'moon'],
];

export function ThemeSwitch() {
  return (
    <div class="segmented" role="group" aria-label={t('Theme')}>
      {CHOICES.map(([name, label, icon]) => (
        <button
          key={name}
          type="button"
          aria-label={t(label)}
          title={t(label)}
          aria-pressed={theme.value === name}
          onClick={() => (theme.value = name)}
        >
          <Icon name={icon} size={18} />
        </button>
      ))}
    </div>
  );
}
