import { InvalidRequestError } from '../../platform/errors/errors.js';
import { type FormField, MAX_FIELD_BYTES } from '../../platform/http/input/form-fields.js';
import { languageName, MAX_LANGUAGES } from '../../platform/languages.js';
import { checkVocabulary, MAX_TERMS, promptTerms } from '../../platform/vocabulary.js';
import type { RepeatRule, UploadDetails, UploadFormFields } from '../recordings/upload/upload-requests.service.js';

/** Of a translation; there is no telling who said what. */
export const TRANSLATION_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const;
export const RESPONSE_FORMATS = [...TRANSLATION_FORMATS, 'diarized_json'] as const;
type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

export const GRANULARITIES = ['word', 'segment'] as const;
type Granularity = (typeof GRANULARITIES)[number];

/** What a client may ask for in addition (D70). */
export const INCLUSIONS = ['logprobs'] as const;
type Inclusion = (typeof INCLUSIONS)[number];

/** `translate`: the text is to be in English (D71). */
export type Task = 'transcribe' | 'translate';

/** What a client asks for, beside the audio. */
export interface TranscriptionOptions {
  task: Task;
  /** Lower-case English name; undefined without one. */
  language: string | undefined;
  /** The same of each of several, in place of one; empty without any (D69). */
  languages: string[];
  prompt: string;
  /** The keywords, then the terms in the prompt (D48). */
  vocabulary: string[];
  include: readonly Inclusion[];
  format: ResponseFormat;
  /** How many to tell apart, as an upload says it; undefined: as the account says. */
  speakers: string | undefined;
  granularities: readonly Granularity[];
  stream: boolean;
}

/** The same audio within this time is one recording. */
const REPEAT_SECONDS = 600;

const SINGLE = [
  'model',
  'language',
  'prompt',
  'response_format',
  'temperature',
  'stream',
  'speakers',
  'chunking_strategy',
  'chunking_strategy[type]',
  'chunking_strategy[threshold]',
  'chunking_strategy[prefix_padding_ms]',
  'chunking_strategy[silence_duration_ms]',
] as const;
type Single = (typeof SINGLE)[number];

/** Of `POST /v1/audio/translations`. */
const OF_TRANSLATION: readonly Single[] = ['model', 'prompt', 'response_format', 'temperature'];

/** With the spellings of other languages. */
const STREAM_VALUES = { true: true, false: false, True: true, False: false, '1': true, '0': false };
export const STREAM_NAMES = Object.keys(STREAM_VALUES) as (keyof typeof STREAM_VALUES)[];

const TRANSCRIPTION_NAMES = [
  'model',
  'language',
  'languages',
  'prompt',
  'keywords',
  'response_format',
  'timestamp_granularities',
  'include',
  'chunking_strategy',
  'stream',
  'speakers',
];

/** Samples of voices, and whose they are: no engine compares them. */
const KNOWN_SPEAKERS = /^(known_speaker_(?:names|references))(?:\[\d*\])?$/;

/** Their names, and as clients write lists: `[]`, `[0]`. */
const LIST_FIELD = /^(timestamp_granularities|include|languages|keywords)(?:\[\d*\])?$/;
type List = 'timestamp_granularities' | 'include' | 'languages' | 'keywords';

/**
 * The text fields of `POST /v1/audio/transcriptions` and `/translations`. Clients send more than this service has a use for,
 * such as `temperature`: all of that is taken and ignored (D70).
 */
export class TranscriptionFormFields implements UploadFormFields {
  readonly maxFields = 64;
  readonly names: readonly string[];
  private readonly single: Partial<Record<Single, string>> = {};
  private readonly lists: Record<List, string[]> = {
    timestamp_granularities: [],
    include: [],
    languages: [],
    keywords: [],
  };
  /** Name of a field that only `diarized_json` has a meaning for. */
  private knownSpeakers: string | undefined;

  constructor(private readonly task: Task = 'transcribe') {
    this.names = task === 'translate' ? OF_TRANSLATION : TRANSCRIPTION_NAMES;
  }

  add({ name = '', value, isTruncated }: FormField): InvalidRequestError | null {
    const isTranslation = this.task === 'translate';
    this.knownSpeakers ??= KNOWN_SPEAKERS.exec(name)?.[1];
    const list = isTranslation ? undefined : (LIST_FIELD.exec(name)?.[1] as List | undefined);
    if (!list && !(isTranslation ? OF_TRANSLATION : SINGLE).includes(name as Single)) return null;
    if (isTruncated) {
      return new InvalidRequestError({ field: name, reason: `must be at most ${MAX_FIELD_BYTES} bytes` });
    }
    if (value === undefined) return new InvalidRequestError({ field: name, reason: 'must be text in UTF-8' });
    // Some clients send a list as one text: `word,segment`.
    if (list) this.lists[list].push(...value.split(','));
    else if (name in this.single) return new InvalidRequestError({ field: name, reason: 'may be given only once' });
    else this.single[name as Single] = value;
    return null;
  }

  /** @throws InvalidRequestError */
  read(): TranscriptionOptions {
    const { language, prompt = '', stream } = this.single;
    const format = this.readFormat();
    checkChunkingStrategy(this.single);
    return {
      task: this.task,
      language: readLanguage('language', language),
      languages: readLanguages(this.lists.languages),
      prompt,
      vocabulary: [...readKeywords(this.lists.keywords), ...promptTerms(prompt)].slice(0, MAX_TERMS),
      include: this.lists.include.map((name) => oneOf('include', name, INCLUSIONS)),
      format,
      speakers: this.single.speakers ?? (format === 'diarized_json' ? 'auto' : undefined),
      granularities: this.lists.timestamp_granularities.map((name) =>
        oneOf('timestamp_granularities', name, GRANULARITIES),
      ),
      stream: stream !== undefined && STREAM_VALUES[oneOf('stream', stream, STREAM_NAMES)],
    };
  }

  /** @throws InvalidRequestError */
  private readFormat(): ResponseFormat {
    const formats = this.task === 'translate' ? TRANSLATION_FORMATS : RESPONSE_FORMATS;
    const format = oneOf<ResponseFormat>('response_format', this.single.response_format ?? 'json', formats);
    if (format !== 'diarized_json' || this.knownSpeakers === undefined) return format;
    const reason =
      'cannot be used: leave it out, and name the speakers with PUT /v1/recordings/{recording_id}/speakers';
    throw new InvalidRequestError({ field: this.knownSpeakers, reason });
  }

  details(): UploadDetails {
    const { language, languages, vocabulary, speakers } = this.read();
    return {
      ...(language !== undefined && { language }),
      ...(languages.length > 0 && { languages: JSON.stringify(languages) }),
      vocabulary: JSON.stringify(vocabulary),
      ...(speakers !== undefined && { speakers }),
      ...(this.task === 'translate' && { task: this.task }),
    };
  }

  repeatRule(): RepeatRule {
    return { seconds: REPEAT_SECONDS, sameText: this.read().prompt };
  }
}

function oneOf<T extends string>(field: string, value: string, allowed: readonly T[]): T {
  const known = allowed.find((item) => item === value);
  if (known === undefined) throw new InvalidRequestError({ field, reason: `must be one of ${allowed.join(', ')}` });
  return known;
}

/** A code such as `en`; a name is understood, too. Empty and `auto` are what some clients send for none. */
function readLanguage(field: string, text: string | undefined): string | undefined {
  if (!text || text === 'auto') return undefined;
  const name = languageName(text);
  if (name !== null) return name;
  throw new InvalidRequestError({ field, reason: 'must be the ISO 639 code of a language, such as en' });
}

function readLanguages(codes: readonly string[]): string[] {
  const names = new Set(codes.flatMap((code) => readLanguage('languages', code.trim()) ?? []));
  if (names.size <= MAX_LANGUAGES) return [...names];
  throw new InvalidRequestError({ field: 'languages', reason: `must be at most ${MAX_LANGUAGES} languages` });
}

/** Unlike a prompt they are a list of terms, so that a wrong one can be named. */
function readKeywords(keywords: readonly string[]): string[] {
  const checked = checkVocabulary(keywords.filter((keyword) => keyword.trim() !== ''));
  if (checked.ok) return checked.terms;
  throw new InvalidRequestError({ field: 'keywords', reason: checked.reason });
}

/** By the names of OpenAI's `server_vad`. */
const VAD_SETTINGS: Readonly<Record<string, { max: number; isInteger: boolean }>> = {
  threshold: { max: 1, isInteger: false },
  prefix_padding_ms: { max: 600_000, isInteger: true },
  silence_duration_ms: { max: 600_000, isInteger: true },
};

/**
 * The service always cuts at pauses, and takes no settings for it; what is valid for OpenAI is accepted. Clients send the
 * object as JSON or as fields of its own.
 * @throws InvalidRequestError
 */
function checkChunkingStrategy(single: Partial<Record<string, string>>): void {
  const { chunking_strategy: text } = single;
  if (text === 'auto') return;
  const settings = text === undefined || text === '' ? fieldsOfStrategy(single) : jsonObject(text);
  if (settings && Object.keys(settings).length === 0) return;
  const broken =
    settings?.type === 'server_vad'
      ? Object.entries(settings).find(([name, value]) => name !== 'type' && !isVadSetting(name, value))?.[0]
      : 'type';
  if (broken === undefined) return;
  throw new InvalidRequestError({
    field: 'chunking_strategy',
    reason:
      broken === 'type'
        ? 'must be auto, or an object of type server_vad'
        : `has a wrong or unknown setting: ${plainName(broken)}`,
  });
}

const fieldsOfStrategy = (single: Partial<Record<string, string>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(single).flatMap(([field, value]) => {
      const name = /^chunking_strategy\[(\w+)\]$/.exec(field)?.[1];
      return name === undefined ? [] : [[name, name === 'type' ? value : Number(value)]];
    }),
  );

function jsonObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { type: '', ...value } : null;
  } catch {
    return null;
  }
}

function isVadSetting(name: string, value: unknown): boolean {
  const rule = Object.hasOwn(VAD_SETTINGS, name) ? VAD_SETTINGS[name] : undefined;
  if (!rule || typeof value !== 'number' || !(value >= 0 && value <= rule.max)) return false;
  return !rule.isInteger || Number.isInteger(value);
}

/** Of what a client sends, no more than a name is repeated. */
const plainName = (name: string): string => (/^\w{1,40}$/.test(name) ? name : '(a name)');
