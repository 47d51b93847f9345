import { computed, effect, signal } from '@preact/signals';

import type { German } from './german/catalogue';

const NAMES = ['en', 'de'] as const;
export type Language = (typeof NAMES)[number];

/** Each by its own name, as people look for it. */
export const LANGUAGES: readonly (readonly [Language, string])[] = [
  ['en', 'English'],
  ['de', 'Deutsch'],
];

const STORED = 'voice-notes.language';

/** What the texts of the console are in. */
export const language = signal<Language>('en');

/** The texts by their English ones; null while they are the English ones. */
export const catalogue = signal<German | null>(null);

const REGIONAL = new Intl.DateTimeFormat().resolvedOptions().locale;

/** For numbers and dates: as the device has them, if it has the language. */
export const locale = computed(() => (isIn(REGIONAL, language.value) ? REGIONAL : language.value));

/** Resolves when the texts are in the language that was chosen on this device, or else the first of the browser that there is. */
export async function followLanguage(): Promise<void> {
  effect(() => {
    document.documentElement.lang = language.value;
  });
  await show(stored() ?? ofBrowser());
}

/** Remembers it on this device. */
export async function chooseLanguage(name: Language): Promise<void> {
  await show(name);
  try {
    localStorage.setItem(STORED, name);
  } catch {
    // Without storage it lasts as long as the tab.
  }
}

/** Stays with the texts that are there when others do not come. */
async function show(name: Language): Promise<void> {
  try {
    const texts = name === 'de' ? (await import('./german/catalogue')).GERMAN : null;
    [catalogue.value, language.value] = [texts, name];
  } catch (error) {
    console.error('The texts could not be loaded', error);
  }
}

function stored(): Language | undefined {
  try {
    return NAMES.find((name) => name === localStorage.getItem(STORED));
  } catch {
    return undefined;
  }
}

function ofBrowser(): Language {
  const names = navigator.languages.map((tag) => NAMES.find((name) => isIn(tag, name)));
  return names.find((name) => name !== undefined) ?? 'en';
}

const isIn = (tag: string, name: Language): boolean => tag === name || tag.startsWith(`${name}-`);
