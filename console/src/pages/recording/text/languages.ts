import { computed } from '@preact/signals';

import { locale } from '../../../language/language';

/** Languages that most engines know, by their names here and their tags on the web. */
const TAGS: Record<string, string> = {
  arabic: 'ar',
  bulgarian: 'bg',
  chinese: 'zh',
  croatian: 'hr',
  czech: 'cs',
  danish: 'da',
  dutch: 'nl',
  english: 'en',
  finnish: 'fi',
  french: 'fr',
  german: 'de',
  greek: 'el',
  hebrew: 'he',
  hindi: 'hi',
  hungarian: 'hu',
  indonesian: 'id',
  italian: 'it',
  japanese: 'ja',
  korean: 'ko',
  norwegian: 'no',
  persian: 'fa',
  polish: 'pl',
  portuguese: 'pt',
  romanian: 'ro',
  russian: 'ru',
  spanish: 'es',
  swedish: 'sv',
  thai: 'th',
  turkish: 'tr',
  ukrainian: 'uk',
  urdu: 'ur',
  vietnamese: 'vi',
};

export const LANGUAGES: readonly string[] = Object.keys(TAGS);

/** For fonts, hyphens and voices; undefined where it is not known. */
export const languageTag = (language: string): string | undefined => TAGS[language];

/** In the language of the person where it is a known one, else as the service has it. */
export function languageTitle(language: string): string {
  const tag = TAGS[language];
  return (tag && NAMES.value.of(tag)) ?? language.charAt(0).toUpperCase() + language.slice(1);
}

const NAMES = computed(() => new Intl.DisplayNames(locale.value, { type: 'language' }));
