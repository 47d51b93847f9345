import { Icon, type IconName } from '../components/icon';
import { type Theme, theme } from '../session/theme';

const CHOICES: [Theme, string, IconName][] = [
  ['system', 'System', 'monitor'],
  ['light', 'Light', 'sun'],
  ['dark', 'Dark', 'moon'],
];

export function ThemeSwitch() {
  return (
    <div class="segmented" role="group" aria-label="Theme">
      {CHOICES.map(([name, label, icon]) => (
        <button
          key={name}
          type="button"
          aria-label={label}
          title={label}
          aria-pressed={theme.value === name}
          onClick={() => (theme.value = name)}
        >
          <Icon name={icon} size={18} />
        </button>
      ))}
    </div>
  );
}
