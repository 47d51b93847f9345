import { ApiProperty } from '@nestjs/swagger';
import { SPEAKERS_PATTERN } from '../../../platform/speakers.js';
import { IsFilter, IsIntegerParameter, IsOmittable, IsTextFilter } from '../../../platform/http/input/rules.js';

export const FORMATS = ['pcm16', 'webm', 'ogg', 'mp4'] as const;

const MAX_NAME = 200;
const MAX_LIST = 8192;

export class RealtimeQuery {
  /** Chooses the protocol of OpenAI. */
  @IsOmittable()
  @IsFilter(['transcription'])
  intent?: 'transcription';

  /** As clients of OpenAI send it; chooses its protocol. The service decides which engine transcribes. */
  @IsOmittable()
  @IsTextFilter(1, MAX_NAME)
  model?: string;

  /** Chooses the plain protocol: the form of the audio in binary messages. */
  @IsOmittable()
  @IsFilter(FORMATS)
  format?: (typeof FORMATS)[number];

  /** Samples a second. Required with `format=pcm16`. */
  @IsOmittable()
  @IsIntegerParameter(8000, 48_000)
  @ApiProperty({ example: 16_000 })
  sample_rate?: number;

  /** Goes on with this live recording, in place of a new one. */
  @IsOmittable()
  @IsTextFilter(1, MAX_NAME)
  recording?: string;

  /** English name of the language that is spoken, as for an upload. */
  @IsOmittable()
  @IsTextFilter(1, MAX_NAME)
  @ApiProperty({ example: 'english' })
  language?: string;

  /** Several languages, as for an upload. */
  @IsOmittable()
  @IsTextFilter(1, MAX_LIST)
  @ApiProperty({ example: 'english,german' })
  languages?: string;

  /** Names and words to expect, as for an upload. */
  @IsOmittable()
  @IsTextFilter(1, MAX_LIST)
  @ApiProperty({ example: 'Grafana,Zoë' })
  vocabulary?: string;

  /** Title of the recording. */
  @IsOmittable()
  @IsTextFilter(1, MAX_NAME)
  title?: string;

  /** How many speakers to tell apart, or `auto`, as for an upload. */
  @IsOmittable()
  @IsTextFilter(1, MAX_NAME)
  @ApiProperty({ pattern: SPEAKERS_PATTERN, example: 'auto' })
  speakers?: string;

  /** `true` is `speakers=auto`, as for an upload. */
  @IsOmittable()
  @IsFilter(['true', 'false'])
  diarize?: 'true' | 'false';

  /** Tags as JSON text, as for an upload. */
  @IsOmittable()
  @IsTextFilter(1, MAX_LIST)
  @ApiProperty({ example: '{"ticket":"T-1042"}' })
  custom_tags?: string;
}
