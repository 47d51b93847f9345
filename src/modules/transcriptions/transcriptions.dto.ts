import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { IsFilter, IsOmittable, IsValid } from '../../platform/http/input/rules.js';
import { MAX_CHANNEL, MAX_SECONDS, MAX_TEXT_CHARACTERS, MAX_WORD_CHARACTERS, MAX_WORDS } from './corrected-words.js';
import { TRANSCRIPTION_FORMATS, type TranscriptionFormat } from './exports/transcription-format.js';
import { SPEAKER_LABEL } from './text/turns.js';
import { TEXT_VERSIONS, type TextVersion } from './transcription-versions.js';

export class GetTranscriptionQuery {
  /**
   * Form of the response, whatever `Accept` says: `json`, the plain `text`, subtitles as SubRip (`srt`) or WebVTT (`vtt`),
   * the text in `paragraphs`, or who speaks when (`rttm`).
   */
  @IsOmittable()
  @IsFilter(TRANSCRIPTION_FORMATS)
  format?: TranscriptionFormat;

  /** `original` returns the engine's text, also if the transcription was corrected. */
  @IsOmittable()
  @IsFilter(TEXT_VERSIONS)
  version?: TextVersion;
}

/** Control characters without the line feed, which separates paragraphs. */
const CONTROL_CHARACTERS = /[^\P{Cc}\n]/u;

function IsCorrectedText(): PropertyDecorator {
  const limit = MAX_TEXT_CHARACTERS.toLocaleString('en-US');
  const problemOf = (value: unknown): string | null => {
    if (typeof value !== 'string') return `must be text of at most ${limit} characters`;
    if (CONTROL_CHARACTERS.test(value) || !value.isWellFormed()) {
      return 'must not contain lone surrogates, or control characters other than line feeds';
    }
    const { length } = [...value];
    return length <= MAX_TEXT_CHARACTERS ? null : `must be text of at most ${limit} characters; this has ${length}`;
  };
  return applyDecorators(
    IsValid('isCorrectedText', problemOf),
    ApiProperty({ type: 'string', maxLength: MAX_TEXT_CHARACTERS }),
  );
}

const seconds = { type: 'number', minimum: 0, maximum: MAX_SECONDS };
const WORD_SCHEMA = {
  type: 'object',
  required: ['word', 'start', 'end'],
  additionalProperties: false,
  properties: {
    word: { type: 'string', minLength: 1, maxLength: MAX_WORD_CHARACTERS },
    start: {
      ...seconds,
      description: 'Seconds from the start of the recording. Never before that of the word before.',
    },
    end: { ...seconds, description: 'Never before the start.' },
    confidence: { type: 'number', nullable: true, minimum: 0, maximum: 1, default: 1 },
    channel: { type: 'integer', minimum: 0, maximum: MAX_CHANNEL, description: 'As the words of the engine have it.' },
    speaker: { type: 'string', pattern: SPEAKER_LABEL.source, description: 'Label of who says it, such as `A`.' },
  },
};

const JSON_TEXT = { type: 'string', description: 'JSON text of the list.' };

function IsCorrectedWords(): PropertyDecorator {
  return applyDecorators(
    // The words themselves are read where they are used, off the event loop.
    IsValid('isCorrectedWords', (value) =>
      Array.isArray(value) || typeof value === 'string' ? null : 'must be a list of words, or its JSON text',
    ),
    ApiProperty({ oneOf: [{ type: 'array', maxItems: MAX_WORDS, items: WORD_SCHEMA }, JSON_TEXT] }),
  );
}

/** All of it goes into the schema, though the type names the description alone. */
const EITHER = { description: 'Either `text` or `words`.', oneOf: [{ required: ['text'] }, { required: ['words'] }] };

@ApiSchema(EITHER)
export class CorrectTranscriptionDto {
  /**
   * The whole corrected text; line feeds separate paragraphs. Words that are unchanged keep their times, others get
   * interpolated ones.
   * @example Go forward ten metres.
   */
  @IsOmittable()
  @IsCorrectedText()
  text?: string;

  /**
   * All words with their times, instead of `text`. The JSON text of the list, as transcriptions have it, is accepted, too.
   * @example [{"word":"Go","start":0.46,"end":0.63},{"word":"forward","start":0.63,"end":1.1}]
   */
  @IsOmittable()
  @IsCorrectedWords()
  words?: unknown[] | string;
}

/** @throws InvalidRequestError unless there is either a text or a list of words. */
export function checkOneGiven({ text, words }: CorrectTranscriptionDto): void {
  if (text === undefined && words === undefined) {
    throw new InvalidRequestError({ field: 'text', reason: 'is required, or words instead of it' });
  }
  if (text !== undefined && words !== undefined) {
    throw new InvalidRequestError({ field: 'words', reason: 'must not be given together with text' });
  }
}
