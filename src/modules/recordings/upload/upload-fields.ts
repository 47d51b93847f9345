import { InvalidRequestError } from '../../../platform/errors/errors.js';
import {
  type FormField,
  type FormFields,
  MAX_FIELD_BYTES,
  unknownField,
} from '../../../platform/http/input/form-fields.js';
import { textOf } from '../../../platform/http/input/rules.js';
import { checkLanguage, checkLanguages, parseLanguages } from '../../../platform/languages.js';
import { ANY_NUMBER, checkSpeakers, NO_SPEAKERS, type Speakers, storedSpeakers } from '../../../platform/speakers.js';
import { parseVocabulary } from '../../../platform/vocabulary.js';
import type { UploadExtras } from '../recordings.events.js';
import { MAX_RETAIN_DAYS, refuseAudioBeyondText, type RetentionPolicy } from '../retention/retention-policy.js';
import { parseCustomTags } from './custom-tags.js';
import { fileAndLink, notAnUpload } from './upload-form.js';

const NAMES = [
  'title',
  'custom_tags',
  'language',
  'languages',
  'vocabulary',
  'channels',
  'speakers',
  'diarize',
  'url',
  'callback_url',
  'callback_secret',
  'retain_audio_days',
  'retain_text_days',
  'delete_audio_after',
] as const;
type Name = (typeof NAMES)[number];

/** In a form they are JSON text, in a JSON body also what that stands for. */
const STRUCTURED: ReadonlySet<Name> = new Set(['custom_tags', 'languages', 'vocabulary']);

/** In a form they are decimal text, in a JSON body also numbers. */
const NUMBERS: ReadonlySet<Name> = new Set(['retain_audio_days', 'retain_text_days', 'speakers']);

/** In a form they are `true` or `false`, in a JSON body also a boolean. */
const BOOLEANS: ReadonlySet<Name> = new Set(['diarize']);

/** What an upload says about its audio, not validated yet. */
export type UploadDetails = Partial<Record<Name, string>> & {
  /** The text is to be in English. No field of an upload: an operation of its own. */
  task?: 'translate';
};

/** The same bytes in the same language are the same upload for a while. */
export interface RepeatRule {
  seconds: number;
  /** What else must be the same. */
  sameText: string;
}

/** The text fields of the form of an operation. What they say is known when the whole form was read. */
export interface UploadFormFields extends FormFields {
  /** @throws InvalidRequestError */
  details(): UploadDetails;
  /** Takes the fields of a JSON body, which has no file. Without this method there is none. @throws InvalidRequestError */
  addJson?(body: object): void;
  /** How an upload without an Idempotency-Key is recognised as a repeat. Without this method none is. */
  repeatRule?(): RepeatRule;
}

/** The text fields of `POST /v1/recordings`. */
export class UploadFields implements UploadFormFields {
  readonly maxFields = 15;
  readonly names = NAMES;
  private readonly given: UploadDetails = {};

  add({ name, value, isTruncated }: FormField): InvalidRequestError | null {
    if (!isKnown(name)) return unknownField(name, NAMES);
    if (name in this.given) return new InvalidRequestError({ field: name, reason: 'may be given only once' });
    if (isTruncated) {
      return new InvalidRequestError({ field: name, reason: `must be at most ${MAX_FIELD_BYTES} bytes` });
    }
    if (value === undefined) return new InvalidRequestError({ field: name, reason: 'must be text in UTF-8' });
    this.given[name] = value;
    return null;
  }

  details(): UploadDetails {
    return this.given;
  }

  /** A link stands for it. */
  get mayLackFile(): boolean {
    return this.given.url !== undefined;
  }

  addJson(body: object): void {
    if (!('url' in body)) throw notAnUpload();
    for (const [name, value] of Object.entries(body as Record<string, unknown>)) {
      if (isKnown(name) && typeof value !== 'string' && !isTyped(name, value)) {
        throw new InvalidRequestError({ field: name, reason: 'must be text' });
      }
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const isTruncated = Buffer.byteLength(text) > MAX_FIELD_BYTES;
      const refusal = name === 'file' ? fileAndLink() : this.add({ name, value: text, isTruncated });
      if (refusal) throw refusal;
    }
  }
}

const isKnown = (name: string | undefined): name is Name => NAMES.includes(name as Name);

/** Whether a JSON body may have such a value for the field. */
function isTyped(name: Name, value: unknown): boolean {
  if (typeof value === 'number') return NUMBERS.has(name);
  if (typeof value === 'boolean') return BOOLEANS.has(name);
  return typeof value === 'object' && value !== null && STRUCTURED.has(name);
}

/** What clients with a key pair can say that they are (D22). An access token says it itself. */
export const KEY_PAIR_SOURCES = ['api', 'console'] as const;
export type KeyPairSource = (typeof KEY_PAIR_SOURCES)[number];

/** The source that the header `X-Upload-Source` names. @throws InvalidRequestError */
export function readUploadSource(header: string | undefined): KeyPairSource {
  const source = KEY_PAIR_SOURCES.find((known) => known === (header ?? 'api'));
  if (source) return source;
  throw new InvalidRequestError({ field: 'X-Upload-Source', reason: `must be one of ${KEY_PAIR_SOURCES.join(', ')}` });
}

/** Header values arrive as bytes: printable ASCII only. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The key that the header `Idempotency-Key` names, or null without one. @throws InvalidRequestError */
export function readIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined || IDEMPOTENCY_KEY.test(header)) return header ?? null;
  throw new InvalidRequestError({ field: 'Idempotency-Key', reason: 'must be 1 to 255 printable ASCII characters' });
}

/** Characters. */
export const MAX_TITLE_LENGTH = 200;
export const checkTitle = textOf(1, MAX_TITLE_LENGTH);

/** The `title` field, or null without one. @throws InvalidRequestError */
export function readTitle(text: string | undefined): string | null {
  if (text === undefined) return null;
  const reason = checkTitle(text);
  if (reason !== null) throw new InvalidRequestError({ field: 'title', reason });
  return text;
}

/** Compact JSON of the `custom_tags` field, or null without one. @throws InvalidRequestError */
export function readCustomTags(text: string | undefined): string | null {
  if (text === undefined) return null;
  const tags = parseCustomTags(text);
  if (!tags.ok) throw new InvalidRequestError({ field: 'custom_tags', reason: tags.reason });
  return tags.json;
}

/** The lower-case English name of the `language` field, or null without one. @throws InvalidRequestError */
function readLanguage(text: string | undefined): string | null {
  if (text === undefined) return null;
  const checked = checkLanguage(text);
  if (!checked.ok) throw new InvalidRequestError({ field: 'language', reason: checked.reason });
  return checked.name;
}

/** What is spoken, as a client says it: one language, or several of which each part is in one (D69). */
export interface SpokenLanguages {
  /** Lower-case English name, or null. */
  language: string | null;
  /** The same of each; null without a list. */
  languages: string[] | null;
}

/** @param languages the text of a form, or a list that was checked. @throws InvalidRequestError */
export function readSpokenLanguages(
  language: string | undefined,
  languages: string | readonly string[] | undefined,
): SpokenLanguages {
  if (language !== undefined && languages !== undefined) {
    throw new InvalidRequestError({ field: 'languages', reason: 'must not be given together with language' });
  }
  if (languages === undefined) return { language: readLanguage(language), languages: null };
  const checked = typeof languages === 'string' ? parseLanguages(languages) : checkLanguages(languages);
  if (!checked.ok) throw new InvalidRequestError({ field: 'languages', reason: checked.reason });
  return { language: null, languages: checked.names };
}

/** The terms of the `vocabulary` field (D48), or null when there are none. @throws InvalidRequestError */
export function readVocabulary(text: string | undefined): string[] | null {
  if (text === undefined) return null;
  const parsed = parseVocabulary(text);
  if (!parsed.ok) throw new InvalidRequestError({ field: 'vocabulary', reason: parsed.reason });
  return parsed.terms.length > 0 ? parsed.terms : null;
}

/** `mixed`: all channels as one recording. `separate`: each of two on its own. */
export const CHANNEL_MODES = ['mixed', 'separate'] as const;

/**
 * Whether each channel is to be transcribed on its own.
 * @param channels of the recording; null when unknown
 * @throws InvalidRequestError
 */
export function readSeparateChannels(text: string | undefined, channels: number | null): boolean {
  if (text === undefined || text === 'mixed') return false;
  if (text !== 'separate') {
    throw new InvalidRequestError({ field: 'channels', reason: `must be one of ${CHANNEL_MODES.join(', ')}` });
  }
  checkSeparateChannels(channels);
  return true;
}

/** @param channels of the recording; null when unknown. @throws InvalidRequestError */
export function checkSeparateChannels(channels: number | null): void {
  if ((channels ?? 0) <= 2) return;
  const reason = `must not be separate for a recording of more than two channels; this has ${channels}`;
  throw new InvalidRequestError({ field: 'channels', reason });
}

/**
 * How many speakers are to be told apart, as a number is stored, or NO_SPEAKERS. Null: as the account says (D86).
 * @throws InvalidRequestError
 */
export function readSpeakers({ speakers, diarize }: UploadDetails): number | null {
  if (diarize !== undefined && diarize !== 'true' && diarize !== 'false') {
    throw new InvalidRequestError({ field: 'diarize', reason: 'must be true or false' });
  }
  if (speakers === undefined) return diarize === undefined ? null : diarize === 'true' ? ANY_NUMBER : NO_SPEAKERS;
  const given = /^\d{1,2}$/.test(speakers) ? Number(speakers) : speakers;
  const reason = checkSpeakers(given);
  if (reason !== null) throw new InvalidRequestError({ field: 'speakers', reason });
  if (diarize === 'false') {
    throw new InvalidRequestError({ field: 'diarize', reason: 'must not be false together with speakers' });
  }
  return storedSpeakers(given as Speakers);
}

/** As that of a webhook. */
const checkSecret = textOf(16, 256);

/** What else came with an upload. Its URLs are checked when the request is read. @throws InvalidRequestError */
export function readExtras(details: UploadDetails): UploadExtras {
  const { url: given, callback_url: callbackUrl, callback_secret: secret } = details;
  const url = given ?? null;
  if (callbackUrl === undefined) {
    if (secret === undefined) return { url, callback: null };
    throw new InvalidRequestError({ field: 'callback_secret', reason: 'may be given only with callback_url' });
  }
  if (secret === undefined) {
    const reason = 'is required with callback_url: it signs what is sent there';
    throw new InvalidRequestError({ field: 'callback_secret', reason });
  }
  const reason = checkSecret(secret);
  if (reason !== null) throw new InvalidRequestError({ field: 'callback_secret', reason });
  return { url, callback: { url: callbackUrl, secret } };
}

/** A number of days, as a form has it. */
export const RETAIN_DAYS_PATTERN = '^(?:[1-9]\\d{0,2}|[12]\\d{3}|3[0-5]\\d{2}|36[0-4]\\d|3650)$';

/**
 * How long an upload says that it is to be kept. Null: as its account says (D78).
 * @throws InvalidRequestError
 */
export function readRetention(details: UploadDetails): RetentionPolicy {
  const retainAudioDays = readDays('retain_audio_days', details);
  const retainTextDays = readDays('retain_text_days', details);
  refuseAudioBeyondText({ retainAudioDays: retainAudioDays ?? undefined, retainTextDays });
  const after = details.delete_audio_after;
  if (after !== undefined && after !== 'transcribed') {
    throw new InvalidRequestError({ field: 'delete_audio_after', reason: 'must be transcribed' });
  }
  return { retainAudioDays, retainTextDays, deleteAudioAfter: after ?? null };
}

function readDays(field: 'retain_audio_days' | 'retain_text_days', details: UploadDetails): number | null {
  const text = details[field];
  if (text === undefined) return null;
  if (new RegExp(RETAIN_DAYS_PATTERN).test(text)) return Number(text);
  throw new InvalidRequestError({ field, reason: `must be a number of days from 1 to ${MAX_RETAIN_DAYS}` });
}
