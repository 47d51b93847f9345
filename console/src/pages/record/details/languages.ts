/** English names that the service knows and engines have; others are reached through the API. */
const NAMES = `afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian bulgarian burmese
  catalan chinese croatian czech danish dutch english estonian finnish french galician georgian german greek gujarati
  hausa hebrew hindi hungarian icelandic indonesian italian japanese kannada kazakh khmer korean lao latvian lithuanian
  macedonian malay malayalam maltese maori marathi mongolian nepali norwegian pashto persian polish portuguese punjabi
  romanian russian serbian sinhala slovak slovenian somali spanish swahili swedish tamil telugu thai tibetan turkish
  ukrainian urdu uzbek vietnamese welsh yiddish yoruba`;

export const LANGUAGES: readonly string[] = NAMES.split(/\s+/);

/** `English`. */
export function titleOf(language: string): string {
  return language.charAt(0).toUpperCase() + language.slice(1);
}
