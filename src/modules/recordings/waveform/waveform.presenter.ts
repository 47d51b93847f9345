import { ApiProperty } from '@nestjs/swagger';
import type { Waveform } from './waveform.entity.js';

const RECORDING_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

export class WaveformView {
  @ApiProperty({ example: RECORDING_ID, format: 'uuid' })
  recording_id: string;

  /** Length of the decoded audio. The peaks divide it into equal parts. */
  @ApiProperty({ example: 2.61 })
  duration_seconds: number;

  /**
   * The loudest sample of each part, from 0 to 255: 255 is the loudest of the recording. One that is quieter than −36 dB
   * of full scale all the time stays below 255, so that silence looks like silence.
   */
  @ApiProperty({
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: 255 },
    maxItems: 1000,
    example: [0, 3, 41, 255, 198, 87, 12, 2],
  })
  peaks: number[];

  @ApiProperty({ example: `/v1/recordings/${RECORDING_ID}/waveform` })
  uri: string;
}

export function presentWaveform({ recordingId, durationMs, peaks }: Waveform): WaveformView {
  return {
    recording_id: recordingId,
    duration_seconds: durationMs / 1000,
    peaks: [...peaks],
    uri: `/v1/recordings/${recordingId}/waveform`,
  };
}
