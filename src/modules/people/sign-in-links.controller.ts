import { Body, Controller, HttpCode, Ip, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../../access/access.decorators.js';
import { NotFoundError, RateLimitError, SignInWayOffError } from '../../platform/errors/errors.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SignInMailsService } from './mails/sign-in-mails.service.js';
import { RequestSignInLinkDto } from './sessions.dto.js';
import { SignInsService } from './sign-ins.service.js';

@ApiTags('Sessions')
@Controller('v1/sign-in-links')
export class SignInLinksController {
  constructor(
    private readonly mails: SignInMailsService,
    private readonly signIns: SignInsService,
  ) {}

  /**
   * Ask for a link that signs in
   *
   * @remarks
   * For somebody who has forgotten the password: whoever has this address gets a mail with a link, which works once and within
   * an hour. The answer is the same for an address that nobody has. People who belong to several accounts, or who sign in
   * with an OpenID provider, get none. Takes no credentials; the rate limit is that of the client's address, and requests are
   * limited further.
   */
  @Post()
  @HttpCode(204)
  @ApiErrors(
    new NotFoundError('mail', 'This service sends no mail. Ask an administrator of your account for a link.'),
    new SignInWayOffError('link'),
    new RateLimitError(60),
  )
  @Public()
  async create(
    @Body() { email }: RequestSignInLinkDto,
    @Ip() address: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.signIns.limitAttempts(email, address);
    await this.mails.request(email);
  }
}
