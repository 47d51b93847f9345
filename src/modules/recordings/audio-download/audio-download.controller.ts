import { applyDecorators, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiResponse, type ApiResponseOptions, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AllowEndUser, CurrentPrincipal, Public, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import {
  AuthenticationError,
  NotFoundError,
  PreconditionFailedError,
  RangeNotSatisfiableError,
} from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { RecordingsService } from '../recordings.service.js';
import { AudioUrlView, presentAudioUrl, SignedAudioQuery } from './audio-download.dto.js';
import { audioDeletedByRetention, AudioDownloadService, CONTENT_TYPES, INVALID_URL } from './audio-download.service.js';

const NO_RECORDING = new NotFoundError('recording');
const NO_AUDIO = new NotFoundError('audio');
const EXAMPLE_TAG = '"019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60"';
export const FILE_ERRORS = [
  NO_RECORDING,
  NO_AUDIO,
  audioDeletedByRetention(),
  new PreconditionFailedError('The audio', EXAMPLE_TAG),
  new RangeNotSatisfiableError(88_211),
];

const text = (description: string, example: string) => ({
  description,
  schema: { type: 'string' as const, example },
});
const FILE_HEADERS = {
  'Accept-Ranges': text('Always `bytes`.', 'bytes'),
  ETag: text('Strong validator of the audio, which never changes.', EXAMPLE_TAG),
  'Last-Modified': text('When the recording was created.', 'Sat, 21 Nov 2026 10:15:00 GMT'),
  'Content-Disposition': text(
    'The name of the uploaded file.',
    `attachment; filename="note.webm"; filename*=UTF-8''note.webm`,
  ),
};
const BYTES = { schema: { type: 'string' as const, format: 'binary' } };
const AUDIO = Object.fromEntries(Object.values(CONTENT_TYPES).map((type) => [type, BYTES]));
const PARTIAL: ApiResponseOptions = {
  status: 206,
  description: 'The requested range; several ranges as `multipart/byteranges`.',
  headers: { ...FILE_HEADERS, 'Content-Range': text('The range; not with several.', 'bytes 0-65535/88211') },
  content: { ...AUDIO, 'multipart/byteranges': BYTES },
};

/** What both ways to the audio have in common (RFC 9110 §13, §14). */
export const ApiAudio = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: 'Range',
      required: false,
      description: 'Ranges of bytes, at most 16.',
      example: 'bytes=0-65535',
    }),
    ApiHeader({ name: 'If-Range', required: false, description: 'Sends the range only if the audio is this one.' }),
    ApiHeader({ name: 'If-None-Match', required: false, description: 'Sends nothing if the audio is this one.' }),
    ApiResponse({ status: 200, description: 'The audio as it was uploaded.', headers: FILE_HEADERS, content: AUDIO }),
    ApiResponse(PARTIAL),
    ApiResponse({ status: 304, description: 'Not modified.' }),
  );

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id')
export class AudioDownloadController {
  constructor(
    private readonly recordings: RecordingsService,
    private readonly downloads: AudioDownloadService,
  ) {}

  /**
   * Download the audio
   *
   * @remarks
   * Returns the audio as it was uploaded, whatever the status of the recording, or ranges of it.
   * @param id Identifier of the recording.
   */
  @Get('audio')
  @ApiAudio()
  @ApiErrors(...FILE_ERRORS)
  @AllowEndUser('read', 'recordings:read')
  async download(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
    @Req() request: Request,
    @Res() response: Response,
    @Query() _query: NoQuery,
  ): Promise<void> {
    const recording = await this.recordings.get(accountId, id);
    await this.downloads.send(recording, 'attachment', request, response);
  }

  /**
   * Create a URL of the audio
   *
   * @remarks
   * Creates a URL with which a player, such as an `<audio>` element, reads the audio of this recording without
   * credentials for 5 minutes. It stops working earlier when the recording is deleted, or the API key is revoked.
   * @param id Identifier of the recording.
   */
  @Post('audio-url')
  @HttpCode(201)
  @ApiCreatedResponse({ type: AudioUrlView })
  @ApiErrors(NO_RECORDING, audioDeletedByRetention())
  @RequireScope('recordings:read')
  async createUrl(
    @CurrentPrincipal() principal: Principal,
    @Param('recording_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<AudioUrlView> {
    return presentAudioUrl(id, await this.downloads.createUrl(principal, id));
  }

  /**
   * Play the audio
   *
   * @remarks
   * Returns the audio to anyone with a URL that `POST /v1/recordings/{recording_id}/audio-url` created. Takes no
   * credentials; the rate limit is that of the client's address.
   * @param id Identifier of the recording.
   */
  @Get('signed-audio')
  @ApiAudio()
  @ApiErrors(...FILE_ERRORS, new AuthenticationError(INVALID_URL))
  @Public()
  async play(
    @Param('recording_id') id: string,
    @Query() { token }: SignedAudioQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const recording = await this.downloads.findSigned(id, token);
    response.setHeader('Cache-Control', 'private, no-store');
    // Players stand on pages of other origins.
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
    await this.downloads.send(recording, 'inline', request, response);
  }
}
