/** How many speakers a client says that there are; `auto`: as many as are found (D86). */
export type Speakers = 'auto' | number;

export const MAX_SPEAKERS = 20;
/** `auto`, where a number is stored. */
export const ANY_NUMBER = 0;
/** In place of a number: none are to be told apart, whatever was said before. It is never stored. */
export const NO_SPEAKERS = -1;

/** @returns what is wrong with a JSON value, in words that follow the field's name; else null */
export function checkSpeakers(value: unknown): string | null {
  const isNumber = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_SPEAKERS;
  return isNumber || value === 'auto' ? null : `must be auto or an integer from 1 to ${MAX_SPEAKERS}`;
}

/** As a number is stored. */
export const storedSpeakers = (speakers: Speakers): number => (speakers === 'auto' ? ANY_NUMBER : speakers);

/** What was stored, as a client says it. */
export const speakersOf = (stored: number): Speakers => (stored === ANY_NUMBER ? 'auto' : stored);

/** In a JSON body. */
export const SPEAKERS_SCHEMAS = [
  { type: 'string', enum: ['auto'] },
  { type: 'integer', minimum: 1, maximum: MAX_SPEAKERS },
];

/** In a form. */
export const SPEAKERS_PATTERN = '^(?:auto|[1-9]|1\\d|20)$';
