import { type BrokenRule, InvalidRequestError } from '../../../platform/errors/errors.js';
import { languageName, MAX_LANGUAGES } from '../../../platform/languages.js';
import { checkSpeakers, type Speakers } from '../../../platform/speakers.js';
import { checkVocabulary, MAX_TERMS, promptTerms } from '../../../platform/vocabulary.js';
import { parseCustomTags } from '../../recordings/upload/growing-uploads.service.js';
import type { LiveAudioType } from '../live-recordings.service.js';
import type { RecordingSettings } from './realtime-client.js';

const SAMPLE_RATES = [24_000, 16_000];
const MAX_PROMPT = 8192;
const MAX_MODEL = 200;

type Fields = Record<string, unknown>;

/** What a client of OpenAI may set, and is shown in return. */
interface Shown {
  sampleRate: number;
  /** As it was sent. */
  transcription: Fields | null;
  noiseReduction: Fields | null;
  turnDetection: Fields | null;
  include: unknown;
  customTags: Fields | null;
}

type Spoken = Pick<RecordingSettings, 'language' | 'languages' | 'vocabulary' | 'speakers' | 'diarize'>;

const SERVER_VAD = { type: 'server_vad', threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 };

/** The settings of a transcription session of OpenAI, in the form of today and in that of its beta (D90). */
export class OpenAiSettings {
  private shown: Shown = {
    sampleRate: 24_000,
    transcription: null,
    noiseReduction: null,
    turnDetection: SERVER_VAD,
    include: null,
    customTags: null,
  };
  private spoken: Spoken;

  /** @param initial from the query. */
  constructor(private readonly initial: RecordingSettings) {
    this.spoken = this.readTranscription('', {});
  }

  get recording(): RecordingSettings {
    const audio: LiveAudioType = { format: 'pcm16', sampleRate: this.shown.sampleRate };
    const { customTags: tags } = this.shown;
    const customTags = tags === null ? this.initial.customTags : JSON.stringify(tags);
    return { ...this.initial, ...this.spoken, customTags, audio, cutsAtPauses: this.detectsTurns };
  }

  /** Of a recording that goes on. */
  set detectsTurns(detects: boolean) {
    this.shown.turnDetection = detects ? SERVER_VAD : null;
  }

  get detectsTurns(): boolean {
    return this.shown.turnDetection !== null;
  }

  /** `session.update`. @param begun what the recording is made with can no longer change. @throws InvalidRequestError */
  update(session: unknown, begun: boolean): void {
    const fields = objectOf('session', session);
    if (fields.type !== undefined && fields.type !== 'transcription') {
      throw invalid('session.type', 'must be transcription: this service has no conversations');
    }
    const input = objectOf('session.audio.input', objectOf('session.audio', fields.audio ?? {}).input ?? {});
    this.apply('session.audio.input.', { ...input, ...ownFields(fields) }, begun, (format) => {
      const { type, rate = 24_000 } = objectOf('session.audio.input.format', format);
      if (type !== 'audio/pcm') throw invalid('session.audio.input.format.type', 'must be audio/pcm');
      if (SAMPLE_RATES.includes(rate as number)) return rate as number;
      throw invalid('session.audio.input.format.rate', `must be one of ${SAMPLE_RATES.join(', ')}`);
    });
  }

  /** `transcription_session.update`, of the beta. @throws InvalidRequestError */
  updateBeta(session: unknown, begun: boolean): void {
    const fields = objectOf('session', session);
    const input = {
      ...ownFields(fields),
      format: fields.input_audio_format,
      transcription: fields.input_audio_transcription,
      noise_reduction: fields.input_audio_noise_reduction,
      turn_detection: fields.turn_detection,
    };
    this.apply('session.', input, begun, (format) => {
      if (format === 'pcm16') return 24_000;
      throw invalid('session.input_audio_format', 'must be pcm16');
    });
  }

  session(id: string): object {
    const { sampleRate, transcription, noiseReduction, turnDetection, include, customTags } = this.shown;
    return {
      type: 'transcription',
      object: 'realtime.transcription_session',
      id,
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: sampleRate },
          transcription,
          noise_reduction: noiseReduction,
          turn_detection: turnDetection,
        },
      },
      include,
      ...(customTags && { custom_tags: customTags }),
    };
  }

  sessionBeta(id: string): object {
    const { transcription, noiseReduction, turnDetection, include, customTags } = this.shown;
    return {
      id,
      object: 'realtime.transcription_session',
      modalities: ['text'],
      input_audio_format: 'pcm16',
      input_audio_transcription: transcription,
      input_audio_noise_reduction: noiseReduction,
      turn_detection: turnDetection,
      include,
      ...(customTags && { custom_tags: customTags }),
    };
  }

  /** Changes nothing unless everything is right. A field that is left out keeps its value. */
  private apply(path: string, input: Fields, begun: boolean, rateOf: (format: unknown) => number): void {
    const next = { ...this.shown };
    let { spoken } = this;
    if (input.format !== undefined) next.sampleRate = rateOf(input.format);
    if (input.transcription !== undefined) {
      next.transcription = nullableObject(`${path}transcription`, input.transcription);
      spoken = this.readTranscription(`${path}transcription.`, next.transcription ?? {});
    }
    if (input.noise_reduction !== undefined) {
      next.noiseReduction = nullableObject(`${path}noise_reduction`, input.noise_reduction);
    }
    if (input.turn_detection !== undefined) {
      next.turnDetection = readTurnDetection(`${path}turn_detection`, input.turn_detection);
    }
    if (input.include !== undefined) next.include = input.include;
    if (input.customTags !== undefined) next.customTags = readTags(input.customTags);
    if (begun) {
      if (next.sampleRate !== this.shown.sampleRate) throw invalid(`${path}format`, CANNOT_CHANGE);
      if (JSON.stringify(spoken) !== JSON.stringify(this.spoken)) throw invalid(`${path}transcription`, CANNOT_CHANGE);
      const isTagged = JSON.stringify(next.customTags) !== JSON.stringify(this.shown.customTags);
      if (isTagged) throw invalid('session.custom_tags', CANNOT_CHANGE);
    }
    this.shown = next;
    this.spoken = spoken;
  }

  /** What the query says is kept where a field is left out. */
  private readTranscription(path: string, fields: Fields): Spoken {
    const { model, language, languages, prompt, keywords } = fields;
    checkText(`${path}model`, model, MAX_MODEL);
    checkText(`${path}prompt`, prompt, MAX_PROMPT);
    const one = readLanguage(`${path}language`, language);
    const several = readLanguages(`${path}languages`, languages);
    const terms = [...readKeywords(`${path}keywords`, keywords), ...promptTerms((prompt ?? '') as string)];
    const { initial } = this;
    const isSaid = one !== null || several !== null;
    return {
      language: isSaid ? one : initial.language,
      languages: isSaid ? (one === null ? several : null) : (initial.languages ?? null),
      vocabulary: terms.length > 0 ? terms.slice(0, MAX_TERMS) : (initial.vocabulary ?? null),
      ...(readSpeakers(path, fields) ?? { speakers: initial.speakers ?? null, diarize: initial.diarize ?? null }),
    };
  }
}

/** What stands beside the audio, in both forms. */
const ownFields = ({ include, custom_tags: customTags }: Fields): Fields => ({ include, customTags });

const CANNOT_CHANGE = 'cannot be changed after the first audio';

const invalid = (field: string, reason: BrokenRule['reason']): InvalidRequestError =>
  new InvalidRequestError({ field, reason });

function objectOf(field: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalid(field, value === undefined ? 'is required' : 'must be an object');
}

const nullableObject = (field: string, value: unknown): Fields | null =>
  value === null ? null : objectOf(field, value);

function checkText(field: string, value: unknown, max: number): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'string') throw invalid(field, 'must be text');
  if (value.length > max) throw invalid(field, `must be at most ${max} characters; this has ${value.length}`);
}

/** A code such as `en`; a name is understood, too. */
function readLanguage(field: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '' || value === 'auto') return null;
  const name = typeof value === 'string' ? languageName(value) : null;
  if (name === null) throw invalid(field, 'must be the ISO 639 code of a language, such as en');
  return name;
}

function readLanguages(field: string, value: unknown): string[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw invalid(field, 'must be a list of ISO 639 codes, such as ["en","de"]');
  const names = [...new Set(value.flatMap((code) => readLanguage(field, code) ?? []))];
  if (names.length > MAX_LANGUAGES) throw invalid(field, `must be at most ${MAX_LANGUAGES} languages`);
  return names.length > 0 ? names : null;
}

function readKeywords(field: string, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const checked = checkVocabulary(value);
  if (!checked.ok) throw invalid(field, checked.reason);
  return checked.terms;
}

/** As texts of a form; null when nothing is said. */
function readSpeakers(path: string, { speakers, diarize }: Fields): Pick<Spoken, 'speakers' | 'diarize'> | null {
  const [number, isWanted] = [(speakers ?? null) as Speakers | null, diarize ?? null];
  if (number === null && isWanted === null) return null;
  if (isWanted !== null && typeof isWanted !== 'boolean') throw invalid(`${path}diarize`, 'must be true or false');
  const reason = number === null ? null : checkSpeakers(number);
  if (reason !== null) throw invalid(`${path}speakers`, reason);
  if (number !== null && isWanted === false) {
    throw invalid(`${path}diarize`, 'must not be false together with speakers');
  }
  return {
    speakers: number === null ? null : String(number),
    diarize: isWanted === null ? null : String(isWanted),
  };
}

function readTags(value: unknown): Fields | null {
  const field = 'session.custom_tags';
  const tags = nullableObject(field, value);
  const parsed = tags && parseCustomTags(JSON.stringify(tags));
  if (parsed && !parsed.ok) throw invalid(field, parsed.reason);
  return tags;
}

const DETECTIONS = ['server_vad', 'semantic_vad'];

/** Its numbers are shown again and have no effect: the service decides which pauses end an utterance. */
function readTurnDetection(field: string, value: unknown): Fields | null {
  const detection = nullableObject(field, value);
  if (detection === null) return null;
  const { type = 'server_vad' } = detection;
  if (!DETECTIONS.includes(type as string)) throw invalid(`${field}.type`, `must be one of ${DETECTIONS.join(', ')}`);
  for (const name of ['threshold', 'prefix_padding_ms', 'silence_duration_ms']) {
    const number = detection[name];
    if (number !== undefined && number !== null && !(typeof number === 'number' && number >= 0)) {
      throw invalid(`${field}.${name}`, 'must be a number of at least 0');
    }
  }
  return type === 'server_vad' ? { ...SERVER_VAD, ...detection } : detection;
}
