import type { IncomingHttpHeaders } from 'node:http';
import { Body, Controller, Headers, HttpCode, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type Actor, CurrentActor, Public, RequireKey } from '../../access/access.decorators.js';
import { AuthenticationError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  CreatedSignInCodeView,
  ExchangedKeyView,
  ExchangeSignInCodeDto,
  presentExchangedKey,
  presentSignInCode,
} from './sign-in-codes.dto.js';
import { INVALID_CODE, type KeyPair, SignInCodesService } from './sign-in-codes.service.js';

@ApiTags('Account')
@Controller('v1/account/sign-in-codes')
export class SignInCodesController {
  constructor(
    private readonly codes: SignInCodesService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * Create a sign-in code
   *
   * @remarks
   * Creates a code that can be exchanged once, within 10 minutes, for the API key and the secret of this request. A link
   * `{address}/#code={code}` opens the console signed in.
   */
  @Post()
  @ApiCreatedResponse({ type: CreatedSignInCodeView })
  @RequireKey('account:read')
  async create(
    @CurrentActor() actor: Actor,
    @Headers() headers: IncomingHttpHeaders,
    @Query() _query: NoQuery,
  ): Promise<CreatedSignInCodeView> {
    const created = await this.codes.create(actor.account_id, pairOf(headers));
    this.securityLog.record('sign-in code created', { ...actor });
    return presentSignInCode(created);
  }

  /**
   * Exchange a sign-in code
   *
   * @remarks
   * Returns the API key and the secret that the code stands for, and ends the code. Takes no credentials; the rate limit
   * is that of the client's address.
   */
  @Post('exchange')
  @HttpCode(200)
  @ApiOkResponse({ type: ExchangedKeyView })
  @ApiErrors(new AuthenticationError(INVALID_CODE))
  @Public()
  async exchange(@Body() { code }: ExchangeSignInCodeDto, @Query() _query: NoQuery): Promise<ExchangedKeyView> {
    return presentExchangedKey(await this.codes.exchange(code));
  }
}

/** The guards have accepted the pair: in its two headers, or as `Bearer key.secret`. */
function pairOf({ authorization = '', ...headers }: IncomingHttpHeaders): KeyPair {
  const { 'x-service-api-key': key, 'x-service-api-secret': secret } = headers;
  if (typeof key === 'string' && typeof secret === 'string') return { key, secret };
  const [ofBearer = '', secretOfBearer = ''] = authorization.slice(authorization.lastIndexOf(' ') + 1).split('.');
  return { key: ofBearer, secret: secretOfBearer };
}
