import { InvalidRequestError } from '../../platform/errors/errors.js';
import { type FormField, MAX_FIELD_BYTES } from '../../platform/http/input/form-fields.js';
import { trimmedEnd } from '../../platform/http/input/text-rules.js';
import { languageName } from '../../platform/languages.js';
import { checkVocabulary, MAX_TERM_LENGTH, MAX_TERMS } from '../../platform/vocabulary.js';
import type { RepeatRule, UploadDetails, UploadFormFields } from '../recordings/upload/upload-requests.service.js';

export const RESPONSE_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const;
type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

export const GRANULARITIES = ['word', 'segment'] as const;
type Granularity = (typeof GRANULARITIES)[number];

/** What a client asks for, beside the audio. */
export interface TranscriptionOptions {
  /** Lower-case English name; undefined without one. */
  language: string | undefined;
  prompt: string;
  /** Terms in the prompt (D48). */
  vocabulary: string[];
  format: ResponseFormat;
  granularities: readonly Granularity[];
  stream: boolean;
}

/** The same audio within this time is one recording. */
const REPEAT_SECONDS = 600;

const SINGLE = ['model', 'language', 'prompt', 'response_format', 'temperature', 'stream'] as const;
type Single = (typeof SINGLE)[number];

/** With the spellings of other languages. */
const STREAM_VALUES = { true: true, false: false, True: true, False: false, '1': true, '0': false };
export const STREAM_NAMES = Object.keys(STREAM_VALUES) as (keyof typeof STREAM_VALUES)[];

/** `timestamp_granularities`, and as clients write lists: `[]`, `[0]`. */
const GRANULARITIES_FIELD = /^timestamp_granularities(\[\d*\])?$/;

/**
 * The text fields of `POST /v1/audio/transcriptions`. Clients send more than this service has a use for, such as `model`,
 * `temperature` and `include[]`: all of that is taken and ignored.
 */
export class TranscriptionFormFields implements UploadFormFields {
  readonly maxFields = 64;
  readonly names = ['model', 'language', 'prompt', 'response_format', 'timestamp_granularities', 'stream'];
  private readonly single: Partial<Record<Single, string>> = {};
  private granularities: string[] = [];

  add({ name = '', value, isTruncated }: FormField): InvalidRequestError | null {
    const isList = GRANULARITIES_FIELD.test(name);
    if (!isList && !isSingle(name)) return null;
    if (isTruncated) {
      return new InvalidRequestError({ field: name, reason: `must be at most ${MAX_FIELD_BYTES} bytes` });
    }
    if (value === undefined) return new InvalidRequestError({ field: name, reason: 'must be text in UTF-8' });
    // Some clients send a list as one text: `word,segment`.
    if (isList) this.granularities = [...this.granularities, ...value.split(',')];
    else if (name in this.single) return new InvalidRequestError({ field: name, reason: 'may be given only once' });
    else this.single[name as Single] = value;
    return null;
  }

  /** @throws InvalidRequestError */
  read(): TranscriptionOptions {
    const { language, prompt = '', response_format: format, stream } = this.single;
    return {
      language: readLanguage(language),
      prompt,
      vocabulary: promptTerms(prompt),
      format: format === undefined ? 'json' : oneOf('response_format', format, RESPONSE_FORMATS),
      granularities: this.granularities.map((name) => oneOf('timestamp_granularities', name, GRANULARITIES)),
      stream: stream !== undefined && STREAM_VALUES[oneOf('stream', stream, STREAM_NAMES)],
    };
  }

  details(): UploadDetails {
    const { language, vocabulary } = this.read();
    return { ...(language !== undefined && { language }), vocabulary: JSON.stringify(vocabulary) };
  }

  repeatRule(): RepeatRule {
    return { seconds: REPEAT_SECONDS, sameText: this.read().prompt };
  }
}

const isSingle = (name: string): name is Single => SINGLE.includes(name as Single);

function oneOf<T extends string>(field: string, value: string, allowed: readonly T[]): T {
  const known = allowed.find((item) => item === value);
  if (known === undefined) throw new InvalidRequestError({ field, reason: `must be one of ${allowed.join(', ')}` });
  return known;
}

/** A code such as `en`; a name is understood, too. Empty and `auto` are what some clients send for none. */
function readLanguage(text: string | undefined): string | undefined {
  if (!text || text === 'auto') return undefined;
  const name = languageName(text);
  if (name !== null) return name;
  throw new InvalidRequestError({ field: 'language', reason: 'must be the ISO 639 code of a language, such as en' });
}

/** A longer piece between two separators is a sentence. */
const MAX_WORDS = 4;
const SENTENCE_END = /[.!?。！？]/u;

/**
 * The terms of a `prompt`, which OpenAI takes as free text. Clients mostly send lists of names, separated by commas or
 * lines: each item is a term. Of a sentence, the names are: words with a capital or a digit, but for its first word.
 */
export function promptTerms(prompt: string): string[] {
  const pieces = prompt.toWellFormed().split(/[,;，、；\n\r]|(?<=[.!?。！？])\s/u);
  const terms = pieces
    .map((piece) => plain(trimmedEnd(piece, SENTENCE_END)))
    .flatMap((piece) => (isTerm(piece) ? piece : namesIn(piece)));
  const usable = terms.filter((term) => checkVocabulary([term]).ok).slice(0, MAX_TERMS);
  const checked = checkVocabulary(usable);
  return checked.ok ? checked.terms : [];
}

/** Without control characters, labels such as `Glossary:`, and marks around it. */
const plain = (piece: string): string =>
  trimmedEnd(
    piece
      .replaceAll(/\p{Cc}+/gu, ' ')
      .replace(/^[^:]*:\s/u, '')
      .replace(/^[\s"'“”„«»()[\]*•-]+/u, ''),
    /[\s"'“”„«»()[\]*:]/u,
  );

const isTerm = (piece: string): boolean =>
  [...piece].length <= MAX_TERM_LENGTH && piece.split(/\s+/u).length <= MAX_WORDS;

/** Neighbours make one name: `New York`. */
function namesIn(sentence: string): string[] {
  const names: string[][] = [[]];
  for (const [index, word] of sentence.split(/\s+/u).map(plain).entries()) {
    if (index > 0 && /[\p{Lu}\p{N}]/u.test(word)) names.at(-1)?.push(word);
    else names.push([]);
  }
  return names.filter((name) => name.length > 0).map((name) => name.join(' '));
}
