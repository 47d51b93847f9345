import { Controller, Get, Headers, Ip, Param, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../../access/access.decorators.js';
import { keptSignInOf, keptSignInCookie, NO_KEPT_SIGN_IN } from '../../../access/session-cookie.js';
import { SIGN_IN_WAYS, type SignInWay } from '../../../platform/config/env.js';
import { RateLimitError } from '../../../platform/errors/errors.js';
import { NoQuery } from '../../../platform/http/input/request-validation.pipe.js';
import { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import { SignInMailsService } from '../mails/sign-in-mails.service.js';
import { answerSignedIn } from '../sessions.controller.js';
import { SignInWaysService } from '../sign-in-ways.service.js';
import { OidcClientService } from './oidc-client.service.js';
import { OidcSignInsService, SignInFailure } from './oidc-sign-ins.service.js';

export class SignInProviderView {
  @ApiProperty({ example: 'example' })
  name: string;

  /** What the button says. */
  @ApiProperty({ example: 'Example Ltd' })
  title: string;

  /** Path to which the browser goes to sign in. */
  @ApiProperty({ example: '/sign-in/example' })
  path: string;
}

export class SignInProvidersView {
  /** With what people sign in beside these providers: the operator can switch each off. */
  @ApiProperty({ enum: SIGN_IN_WAYS, isArray: true, example: ['password', 'link', 'passkey'] })
  ways: SignInWay[];

  /** Whether `POST /v1/sign-in-links` sends a link by mail. */
  @ApiProperty({ example: true })
  sends_links: boolean;

  @ApiProperty({ type: [SignInProviderView] })
  providers: SignInProviderView[];
}

@ApiTags('Sessions')
@Controller('v1/sign-in-providers')
export class SignInProvidersController {
  constructor(
    private readonly client: OidcClientService,
    private readonly ways: SignInWaysService,
    private readonly mails: SignInMailsService,
  ) {}

  /**
   * List the ways to sign in
   *
   * @remarks
   * Returns the OpenID providers with which people can sign in, and the other ways. Takes no credentials; the rate limit is that of the
   * client's address.
   */
  @Get()
  @Public()
  list(@Query() _query: NoQuery): SignInProvidersView {
    return {
      ways: [...this.ways.all],
      sends_links: this.mails.takesRequests,
      providers: this.client.providers.map(({ name, title }) => ({ name, title, path: `/sign-in/${name}` })),
    };
  }
}

/** The pages through which a browser signs in at an OpenID provider. They are for browsers, and no operations of the API. */
@ApiExcludeController()
@Controller('sign-in/:provider')
export class OidcController {
  constructor(
    private readonly client: OidcClientService,
    private readonly signIns: OidcSignInsService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /** @throws NotFoundError */
  @Get()
  @Public()
  async begin(
    @Param('provider') name: string,
    @Ip() address: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const provider = this.client.providerOf(name);
    await redirect(response, async () => {
      const { url, kept } = await this.signIns.begin(provider, callbackOf(request, name), address);
      response.setHeader('Set-Cookie', keptSignInCookie(kept));
      return url;
    });
  }

  /** Where the provider sends the browser back. @throws NotFoundError */
  @Get('callback')
  @Public()
  async finish(
    @Param('provider') name: string,
    @Ip() address: string,
    @Headers('user-agent') userAgent: string | undefined,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const provider = this.client.providerOf(name);
    const url = new URL(callbackOf(request, name));
    url.search = request.originalUrl.split('?').slice(1).join('?');
    await redirect(response, async () => {
      response.setHeader('Set-Cookie', NO_KEPT_SIGN_IN);
      const begun = await this.signIns.finish(provider, url, keptSignInOf(request.headers), { address, userAgent });
      const how = { with: begun.details.session.beganWith, provider: name };
      answerSignedIn(response, this.securityLog, begun, { ...how, address });
      return '/#session=begun';
    });
  }

  /** Signs out at the provider, after `DELETE /v1/session`. @throws NotFoundError */
  @Get('end')
  @Public()
  async end(@Param('provider') name: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const provider = this.client.providerOf(name);
    await redirect(response, async () => (await this.client.signOutUrl(provider, originOf(request))) ?? '/');
  }
}

/** To what `work` gives, or to the console, which says what went wrong. */
async function redirect(response: Response, work: () => Promise<string>): Promise<void> {
  response.setHeader('Cache-Control', 'no-store');
  response.redirect(await work().catch(problemAddress));
}

function problemAddress(error: unknown): string {
  if (error instanceof SignInFailure) return `/#sign-in-problem=${error.problem}`;
  if (error instanceof RateLimitError) return '/#sign-in-problem=limited';
  throw error;
}

/** As the browser sees this service. Behind a proxy that needs TRUST_PROXY. */
const originOf = ({ protocol, host }: Request): string => `${protocol}://${host}/`;
const callbackOf = (request: Request, name: string): string => `${originOf(request)}sign-in/${name}/callback`;
