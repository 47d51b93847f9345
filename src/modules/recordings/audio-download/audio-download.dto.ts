import { ApiProperty } from '@nestjs/swagger';
import { IsText } from '../../../platform/http/input/rules.js';
import { creationTime } from '../../../platform/http/timestamps.js';
import type { SignedAudio } from './audio-urls.service.js';

export class SignedAudioQuery {
  /**
   * Signature of the URL.
   * @example eyJhbGciOiJIUzI1NiJ9
   */
  @IsText(1, 1000)
  token: string;
}

export class AudioUrlView {
  /** Path of the audio, below the address of this service. */
  @ApiProperty({
    example: '/v1/recordings/019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60/signed-audio?token=eyJhbGciOiJIUzI1NiJ9',
  })
  url: string;

  @ApiProperty({ example: '2026-11-21T10:20:00.000Z' })
  expires_at: string;

  @ApiProperty({ enum: ['AUDIO_URL_CREATED'] })
  code: 'AUDIO_URL_CREATED';
}

export function presentAudioUrl(recordingId: string, { token, expiresAt }: SignedAudio): AudioUrlView {
  return {
    url: `/v1/recordings/${recordingId}/signed-audio?token=${token}`,
    expires_at: creationTime(expiresAt),
    code: 'AUDIO_URL_CREATED',
  };
}
