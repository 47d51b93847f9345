import { effect, signal } from '@preact/signals';

const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const NAME = 'voice-notes.theme';

export const theme = signal<Theme>(stored());

/** Shows the theme, and remembers it on this device. */
export function followTheme(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === 'system') delete dataset.theme;
    else dataset.theme = theme.value;
    try {
      localStorage.setItem(NAME, theme.value);
    } catch {
      // Without storage it lasts as long as the tab.
    }
  });
}

function stored(): Theme {
  try {
    return THEMES.find((name) => name === localStorage.getItem(NAME)) ?? 'system';
  } catch {
    return 'system';
  }
}
