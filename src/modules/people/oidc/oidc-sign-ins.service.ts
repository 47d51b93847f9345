import { Injectable, Logger } from '@nestjs/common';
import { SecretsService } from '../../../platform/secrets.service.js';
import { type BegunSession, SessionsService } from '../sessions.service.js';
import { insertSession, type SessionClient, SignInsService } from '../sign-ins.service.js';
import { MembersOfProvidersService } from './members-of-providers.service.js';
import { OidcClientService, type OidcFlow, OidcRefusedError, type OidcSubject } from './oidc-client.service.js';
import type { OidcProvider } from './providers.js';

const FLOW_MS = 600_000;

/** Why nobody was signed in, as the address to which the browser comes back says it. */
export type SignInProblem = 'expired' | 'refused' | 'stranger' | 'unavailable';

export class SignInFailure extends Error {
  override readonly name = 'SignInFailure';

  constructor(
    readonly problem: SignInProblem,
    options?: ErrorOptions,
  ) {
    super(`sign-in ${problem}`, options);
  }
}

/** A sign-in that the browser keeps while it is at the provider. */
interface KeptFlow extends OidcFlow {
  provider: string;
  until: number;
}

/** Begins sessions of people whom an OpenID provider has signed in (D102). */
@Injectable()
export class OidcSignInsService {
  private readonly logger = new Logger(OidcSignInsService.name);

  constructor(
    private readonly client: OidcClientService,
    private readonly members: MembersOfProvidersService,
    private readonly secrets: SecretsService,
    private readonly sessions: SessionsService,
    private readonly signIns: SignInsService,
  ) {}

  /**
   * @returns where the browser goes, and what it keeps until it comes back
   * @throws SignInFailure, RateLimitError
   */
  async begin(provider: OidcProvider, redirectUri: string, address?: string): Promise<{ url: string; kept: string }> {
    await this.signIns.limitAttempts(undefined, address);
    try {
      const { url, flow } = await this.client.begin(provider, redirectUri);
      const kept: KeptFlow = { ...flow, provider: provider.name, until: Date.now() + FLOW_MS };
      return { url, kept: this.secrets.encrypt(JSON.stringify(kept), provider.name) };
    } catch (error) {
      this.logger.error({ err: error, provider: provider.name }, 'an OpenID provider cannot be used');
      throw new SignInFailure('unavailable', { cause: error });
    }
  }

  /** @throws SignInFailure, RateLimitError */
  async finish(
    provider: OidcProvider,
    callbackUrl: URL,
    kept: string | null,
    client: SessionClient,
  ): Promise<BegunSession> {
    await this.signIns.limitAttempts(undefined, client.address);
    try {
      const begun = await this.beginSession(provider, await this.subjectOf(provider, callbackUrl, kept), client);
      this.signIns.count('ok');
      return await this.sessions.begun(begun);
    } catch (error) {
      this.signIns.count('refused');
      throw error;
    }
  }

  private async subjectOf(provider: OidcProvider, callbackUrl: URL, kept: string | null): Promise<OidcSubject> {
    const flow = this.read(provider, kept);
    if (!flow) throw new SignInFailure('expired');
    try {
      return await this.client.finish(provider, callbackUrl, flow);
    } catch (error) {
      const isRefused = error instanceof OidcRefusedError;
      this.logger.warn({ err: error, provider: provider.name }, 'a sign-in at an OpenID provider failed');
      throw new SignInFailure(isRefused ? 'refused' : 'unavailable', { cause: error });
    }
  }

  private async beginSession(provider: OidcProvider, found: OidcSubject, client: SessionClient) {
    const { refreshToken } = found;
    if (refreshToken === null) {
      this.logger.error(
        { provider: provider.name },
        'an OpenID provider gives no refresh token: nobody can be signed in',
      );
      throw new SignInFailure('unavailable');
    }
    const begun = await this.members.enter(provider, found, async (tx, identity) => {
      const now = new Date();
      const fields = {
        personId: identity.personId,
        accountId: provider.accountId,
        beganWith: 'provider' as const,
        linkMadeBy: null,
        identityId: identity.id,
        provider: provider.name,
        providerToken: this.secrets.encrypt(refreshToken, identity.id),
        checkedAt: now,
        confirmedAt: now,
      };
      return await insertSession(tx, fields, client);
    });
    if (!begun) throw new SignInFailure('stranger');
    return begun;
  }

  /** Null for what this service has not made, or not for this provider, or too long ago. */
  private read(provider: OidcProvider, kept: string | null): KeptFlow | null {
    if (kept === null) return null;
    try {
      const flow = JSON.parse(this.secrets.decrypt(kept, provider.name)) as KeptFlow;
      return flow.until > Date.now() ? flow : null;
    } catch {
      return null;
    }
  }
}
