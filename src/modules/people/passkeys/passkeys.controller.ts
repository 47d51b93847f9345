import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Ip,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  type Actor,
  CurrentActor,
  CurrentPrincipal,
  Public,
  RequireSession,
} from '../../../access/access.decorators.js';
import type { Principal } from '../../../access/principal.js';
import {
  AuthenticationError,
  ConflictError,
  LimitExceededError,
  NotFoundError,
  PermissionError,
  RateLimitError,
} from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../../platform/http/openapi.js';
import { PageQuery } from '../../../platform/http/page.js';
import { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import { answerSignedIn, OTHER_ORIGIN, type SignedIn } from '../sessions.controller.js';
import { presentSession, SessionView } from '../sessions.dto.js';
import { SessionsService } from '../sessions.service.js';
import { PasskeySignInsService, WRONG_PASSKEY } from './passkey-sign-ins.service.js';
import {
  CreatePasskeyDto,
  PasskeyOptionsDto,
  PasskeyPage,
  PasskeyRegistrationView,
  PasskeySignInDto,
  PasskeySignInOptionsView,
  PasskeyView,
  presentPasskey,
  presentPasskeyPage,
  presentRegistration,
  presentSignInOptions,
  UpdatePasskeyDto,
} from './passkeys.dto.js';
import { MAX_PASSKEYS, NO_PASSKEY_BY_LINK, PasskeysService } from './passkeys.service.js';
import { relyingPartyOf } from './web-authn.js';

const NO_PASSKEY = new NotFoundError('passkey');
const TOO_MANY = new LimitExceededError('passkeys', MAX_PASSKEYS);

@ApiTags('Sessions')
@Controller('v1/session/passkeys')
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly sessions: SessionsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List one’s own passkeys
   *
   * @remarks
   * Returns the passkeys with which the person can sign in, oldest first. Takes a session.
   */
  @Get()
  @RequireSession()
  async list(@CurrentPrincipal() principal: Principal, @Query() query: PageQuery): Promise<PasskeyPage> {
    return presentPasskeyPage(query, await this.passkeys.list((principal as SignedIn).personId, query));
  }

  /**
   * Begin to add a passkey
   *
   * @remarks
   * Returns what a browser needs to make a passkey of the person. Takes a session that began with a password or a passkey,
   * within the last 10 minutes or with `current_password`. People who sign in with an OpenID provider get none.
   */
  @Post('options')
  @HttpCode(200)
  @ApiOkResponse({ type: PasskeyRegistrationView })
  @ApiErrors(new PermissionError(null, NO_PASSKEY_BY_LINK), OTHER_ORIGIN, TOO_MANY, new RateLimitError(60))
  @RequireSession()
  async begin(
    @CurrentPrincipal() principal: Principal,
    @Body() { current_password: password }: PasskeyOptionsDto,
    @Ip() address: string,
    @Req() request: Request,
    @Query() _query: NoQuery,
  ): Promise<PasskeyRegistrationView> {
    const details = await this.sessions.details((principal as SignedIn).sessionId);
    return presentRegistration(await this.passkeys.begin(details, password, address), relyingPartyOf(request));
  }

  /**
   * Add a passkey
   *
   * @remarks
   * Keeps the passkey that a browser has made with the options. Takes the session that asked for them.
   */
  @Post()
  @ApiErrors(OTHER_ORIGIN, TOO_MANY, new ConflictError('This passkey was added already.'))
  @RequireSession()
  async create(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Body() { name, credential }: CreatePasskeyDto,
    @Req() request: Request,
    @Query() _query: NoQuery,
  ): Promise<PasskeyView> {
    const added = await this.passkeys.add(principal as SignedIn, name, credential, relyingPartyOf(request));
    this.securityLog.record('passkey added', { ...actor, passkey_id: added.id });
    return presentPasskey(added);
  }

  /**
   * Rename a passkey
   *
   * @remarks
   * Changes what the person calls it. Takes a session.
   * @param id Identifier of the passkey.
   */
  @Patch(':passkey_id')
  @ApiErrors(NO_PASSKEY, OTHER_ORIGIN)
  @RequireSession()
  async update(
    @CurrentPrincipal() principal: Principal,
    @Param('passkey_id') id: string,
    @Body() { name }: UpdatePasskeyDto,
    @Query() _query: NoQuery,
  ): Promise<PasskeyView> {
    return presentPasskey(await this.passkeys.rename((principal as SignedIn).personId, id, name));
  }

  /**
   * Remove a passkey
   *
   * @remarks
   * Nobody signs in with it from now on. Sessions that began with it go on. Takes a session.
   * @param id Identifier of the passkey.
   */
  @Delete(':passkey_id')
  @HttpCode(204)
  @ApiErrors(NO_PASSKEY, OTHER_ORIGIN)
  @RequireSession()
  async delete(
    @CurrentPrincipal() principal: Principal,
    @CurrentActor() actor: Actor,
    @Param('passkey_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.passkeys.remove((principal as SignedIn).personId, id);
    this.securityLog.record('passkey removed', { ...actor, passkey_id: id });
  }
}

@ApiTags('Sessions')
@Controller('v1/sessions')
export class PasskeySignInsController {
  constructor(
    private readonly signIns: PasskeySignInsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Begin to sign in with a passkey
   *
   * @remarks
   * Returns what a browser needs to ask for a passkey, the same for everybody. Takes no credentials; the rate limit is that
   * of the client’s address.
   */
  @Post('passkey-options')
  @HttpCode(200)
  @ApiOkResponse({ type: PasskeySignInOptionsView })
  @ApiErrors(new RateLimitError(60))
  @Public()
  async begin(@Req() request: Request, @Query() _query: NoQuery): Promise<PasskeySignInOptionsView> {
    return presentSignInOptions(await this.signIns.challenge(), relyingPartyOf(request));
  }

  /**
   * Sign in with a passkey
   *
   * @remarks
   * Begins a session of the person whose passkey has signed the options, as `POST /v1/sessions` does. Takes no credentials;
   * the rate limit is that of the client’s address, and attempts are limited further.
   */
  @Post('passkey')
  @ApiCreatedResponse({ type: SessionView })
  @ApiErrors(new AuthenticationError(WRONG_PASSKEY), new RateLimitError(60))
  @Public()
  async create(
    @Body() { credential }: PasskeySignInDto,
    @Ip() address: string,
    @Headers('user-agent') userAgent: string | undefined,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<SessionView> {
    const client = { address, userAgent };
    const begun = await this.signIns.begin(credential, relyingPartyOf(request), client);
    answerSignedIn(response, this.securityLog, begun, { with: begun.details.session.beganWith, address });
    return presentSession(begun.details);
  }
}
