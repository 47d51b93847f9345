import { ApiProperty } from '@nestjs/swagger';
import type { Speakers } from './speakers.service.js';

const RECORDING_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

export class SpeakerView {
  /** Label, as words have it: `A` speaks first. */
  @ApiProperty({ example: 'A' })
  speaker: string;

  @ApiProperty({ type: String, nullable: true, example: 'Ada' })
  name: string | null;

  /** How many words of the text are theirs. */
  @ApiProperty({ type: 'integer', example: 123 })
  words: number;

  /** How long they speak. */
  @ApiProperty({ example: 45.6 })
  seconds: number;
}

export class SpeakersView {
  @ApiProperty({ example: RECORDING_ID, format: 'uuid' })
  recording_id: string;

  /** Empty where speakers were not told apart. */
  speakers: SpeakerView[];

  @ApiProperty({ example: `/v1/recordings/${RECORDING_ID}/speakers` })
  uri: string;
}

export function presentSpeakers({ recordingId, speakers }: Speakers): SpeakersView {
  return {
    recording_id: recordingId,
    speakers: speakers.map(({ speaker, name, words, seconds }) => ({ speaker, name, words, seconds })),
    uri: `/v1/recordings/${recordingId}/speakers`,
  };
}
