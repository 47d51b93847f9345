import { Body, Controller, Delete, Get, HttpCode, Ip, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Actor, CurrentActor, CurrentPrincipal, Public, RequireScope } from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import { LimitExceededError, NotFoundError, RateLimitError } from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { PageQuery } from '../../../platform/http/page.js';
import { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import { ApiAudio, FILE_ERRORS } from '../audio-download/audio-download.controller.js';
import { AudioDownloadService } from '../audio-download/audio-download.service.js';
import { AudioUrlsService } from '../audio-download/audio-urls.service.js';
import { RecordingInclusionsService } from '../recording-inclusions.service.js';
import {
  CreatedShareView,
  CreateShareDto,
  OpenShareDto,
  presentCreatedShare,
  presentSharedRecording,
  presentSharePage,
  SharedAudioQuery,
  type SharedText,
  SharedRecordingView,
  SharePage,
} from './shares.dto.js';
import { MAX_SHARES, PasswordRequiredError, ShareNotFoundError, SharesService } from './shares.service.js';

const NO_RECORDING = new NotFoundError('recording');

@ApiTags('Recordings')
@Controller('v1/recordings/:recording_id/shares')
export class SharesController {
  constructor(
    private readonly shares: SharesService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List the shares of a recording
   *
   * @remarks
   * Returns the links that were made for the recording, newest first, without their tokens.
   * @param recordingId Identifier of the recording.
   */
  @Get()
  @ApiErrors(NO_RECORDING)
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') recordingId: string,
    @Query() query: PageQuery,
  ): Promise<SharePage> {
    return presentSharePage(recordingId, query, await this.shares.list(accountId, recordingId, query));
  }

  /**
   * Share a recording
   *
   * @remarks
   * Creates a link to a page that shows the text of the recording to anybody, without an account. The response is the only
   * one that holds the link. With `#…&t=63` at its end it opens at that second.
   * @param recordingId Identifier of the recording.
   */
  @Post()
  @ApiErrors(NO_RECORDING, new LimitExceededError('shares of a recording', MAX_SHARES))
  @RequireScope('recordings:write')
  async create(
    @CurrentPrincipal() { accountId, keyId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('recording_id') recordingId: string,
    @Body() { password = null, audio, expires_at: expiresAt }: CreateShareDto,
    @Query() _query: NoQuery,
  ): Promise<CreatedShareView> {
    const wanted = { password, includesAudio: audio, expiresAt: expiresAt ? new Date(expiresAt) : null };
    const { share, token } = await this.shares.create(accountId, recordingId, keyId, wanted);
    this.securityLog.record('share created', { ...actor, share_id: share.id, recording_id: recordingId });
    return presentCreatedShare(share, token);
  }

  /**
   * End a share
   *
   * @remarks
   * The link shows nothing any more, and the audio that was opened with it is read no further.
   * @param recordingId Identifier of the recording.
   * @param id Identifier of the share.
   */
  @Delete(':share_id')
  @ApiErrors(NO_RECORDING, new NotFoundError('share'))
  @HttpCode(204)
  @RequireScope('recordings:write')
  async delete(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('recording_id') recordingId: string,
    @Param('share_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.shares.delete(accountId, recordingId, id);
    this.securityLog.record('share deleted', { ...actor, share_id: id, recording_id: recordingId });
  }
}

/** For people who have a link and no account. */
@ApiTags('Recordings')
@Controller('v1/shares')
export class SharedRecordingsController {
  constructor(
    private readonly shares: SharesService,
    private readonly inclusions: RecordingInclusionsService,
    private readonly downloads: AudioDownloadService,
    private readonly audioUrls: AudioUrlsService,
  ) {}

  /**
   * Open a share
   *
   * @remarks
   * Returns what the page of a link shows. Takes no credentials; the rate limit is that of the client's address.
   */
  @Post('open')
  @HttpCode(200)
  @ApiOkResponse({ type: SharedRecordingView })
  @ApiErrors(new ShareNotFoundError(), new PasswordRequiredError(), new RateLimitError(12))
  @Public()
  async open(
    @Body() { token, password = null }: OpenShareDto,
    @Ip() address: string,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<SharedRecordingView> {
    const { share, recording } = await this.shares.open(token, password, address);
    const { transcription = null } = await this.inclusions.load(recording, ['transcription']);
    const audio =
      share.includesAudio && !recording.audioDeletedAt
        ? await this.audioUrls.signShare(share.id, share.expiresAt)
        : null;
    response.setHeader('Cache-Control', 'private, no-store');
    return presentSharedRecording(recording, transcription as SharedText | null, audio);
  }

  /**
   * Play the audio of a share
   *
   * @remarks
   * Returns the audio to anyone with the `audio_url` of `POST /v1/shares/open`, until the share ends.
   */
  @Get('audio')
  @ApiAudio()
  @ApiErrors(...FILE_ERRORS, new ShareNotFoundError())
  @Public()
  async play(@Query() { token }: SharedAudioQuery, @Req() request: Request, @Res() response: Response): Promise<void> {
    const recording = await this.shares.findWithAudio(token);
    response.setHeader('Cache-Control', 'private, no-store');
    await this.downloads.send(recording, 'inline', request, response);
  }
}
