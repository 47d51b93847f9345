import { Injectable } from '@nestjs/common';
import type * as openid from 'openid-client';
import { Agent, fetch as undiciFetch, type RequestInit } from 'undici';
import { Env } from '../../../platform/config/env.js';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { Egress } from '../../../platform/http/outgoing/egress.js';
import { type OidcProvider, readProviders } from './providers.js';

const TIMEOUT_SECONDS = 5;

/** What the browser brings back to prove that it began this sign-in. */
export interface OidcFlow {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** Somebody whom a provider has named. */
export interface OidcSubject {
  issuer: string;
  subject: string;
  /** Of the ID token and of the provider's user info, which wins. */
  claims: Record<string, unknown>;
  /** Null from a provider that gives none. */
  refreshToken: string | null;
}

/** A provider has said no: the sign-in was refused, or the person may no longer be signed in. */
export class OidcRefusedError extends Error {
  override readonly name = 'OidcRefusedError';
}

/** Speaks OpenID Connect (authorization code flow with PKCE) to the providers of OIDC_PROVIDERS (D102). */
@Injectable()
export class OidcClientService {
  readonly providers: readonly OidcProvider[];
  /** By the names of providers. One that could not be read is read again. */
  private readonly egress: Egress;
  private readonly configurations = new Map<string, Promise<openid.Configuration>>();

  constructor(env: Env) {
    this.providers = readProviders(env);
    this.egress = Egress.of(env);
  }

  /** @throws NotFoundError */
  providerOf(name: string): OidcProvider {
    const provider = this.providers.find((each) => each.name === name);
    if (!provider) throw new NotFoundError('provider');
    return provider;
  }

  /** Where the browser signs in, and what it must bring back. */
  async begin(provider: OidcProvider, redirectUri: string): Promise<{ url: string; flow: OidcFlow }> {
    const client = await library();
    const flow = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(await this.configurationOf(provider), {
      redirect_uri: redirectUri,
      scope: provider.scope,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.codeVerifier),
      code_challenge_method: 'S256',
      // Without it a provider may give no refresh token (OpenID Connect Core 11).
      ...(provider.scope.split(' ').includes('offline_access') && { prompt: 'consent' }),
    });
    return { url: url.href, flow };
  }

  /**
   * @param callbackUrl to which the provider has sent the browser, with its query
   * @throws OidcRefusedError, and any other error when the provider cannot be reached
   */
  async finish(provider: OidcProvider, callbackUrl: URL, flow: OidcFlow): Promise<OidcSubject> {
    return await this.ask(provider, async (client, configuration) => {
      const tokens = await client.authorizationCodeGrant(configuration, callbackUrl, {
        expectedState: flow.state,
        expectedNonce: flow.nonce,
        pkceCodeVerifier: flow.codeVerifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new OidcRefusedError('no ID token');
      return await subjectOf(client, configuration, tokens, claims.sub);
    });
  }

  /**
   * Asks the provider for the person again.
   * @throws OidcRefusedError, and any other error when the provider cannot be reached
   */
  async confirm(provider: OidcProvider, subject: string, refreshToken: string): Promise<OidcSubject> {
    return await this.ask(provider, async (client, configuration) => {
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      const found = await subjectOf(client, configuration, tokens, subject);
      return { ...found, refreshToken: found.refreshToken ?? refreshToken };
    });
  }

  /** Where the browser signs out there, too; null for a provider without such a page. */
  async signOutUrl(provider: OidcProvider, returnTo: string): Promise<string | null> {
    const configuration = await this.configurationOf(provider);
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    const client = await library();
    const parameters = { client_id: provider.clientId, post_logout_redirect_uri: returnTo };
    return client.buildEndSessionUrl(configuration, parameters).href;
  }

  /** What a provider refuses is told from what went wrong on the way. */
  private async ask<T>(
    provider: OidcProvider,
    work: (client: typeof openid, configuration: openid.Configuration) => Promise<T>,
  ): Promise<T> {
    const client = await library();
    const configuration = await this.configurationOf(provider);
    try {
      return await work(client, configuration);
    } catch (error) {
      if (isRefusal(client, error)) throw new OidcRefusedError(error.message, { cause: error });
      throw error;
    }
  }

  private configurationOf(provider: OidcProvider): Promise<openid.Configuration> {
    const known = this.configurations.get(provider.name);
    if (known) return known;
    const reading = discover(provider, this.egress);
    this.configurations.set(provider.name, reading);
    reading.catch(() => this.configurations.delete(provider.name));
    return reading;
  }
}

/** Loaded only where there is a provider. */
const library = (): Promise<typeof openid> => import('openid-client');

async function discover(provider: OidcProvider, egress: Egress): Promise<openid.Configuration> {
  const client = await library();
  const issuer = new URL(provider.issuer);
  const { clientId, clientSecret } = provider;
  return await client.discovery(issuer, clientId, clientSecret ?? undefined, clientSecret ? undefined : client.None(), {
    timeout: TIMEOUT_SECONDS,
    ...(!egress.isPlain && { [client.customFetch]: fetchThrough(egress) }),
    execute: [
      // Of the ID token's signature, too, though it comes from the provider itself.
      client.enableNonRepudiationChecks,
      // The rules of the variable allow it on this machine only.
      ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  });
}

/** Node's own `fetch` takes no connector of this version of undici. */
function fetchThrough(egress: Egress): openid.CustomFetch {
  const dispatcher = new Agent({ connect: egress.connector({ timeoutMs: TIMEOUT_SECONDS * 1000 }) });
  return async (url, options) => {
    const response = await undiciFetch(url, { ...(options as RequestInit), dispatcher });
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- the types of browsers, with which test/sdk is checked, differ
    return response as unknown as Response;
  };
}

async function subjectOf(
  client: typeof openid,
  configuration: openid.Configuration,
  tokens: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers,
  subject: string,
): Promise<OidcSubject> {
  const idToken = tokens.claims();
  if (idToken && idToken.sub !== subject) throw new OidcRefusedError('the provider named somebody else');
  const { userinfo_endpoint: endpoint, issuer } = configuration.serverMetadata();
  const info = endpoint === undefined ? {} : await client.fetchUserInfo(configuration, tokens.access_token, subject);
  return { issuer, subject, claims: { ...idToken, ...info }, refreshToken: tokens.refresh_token ?? null };
}

/** Server errors and answers that are too late say nothing of the person. */
function isRefusal(client: typeof openid, error: unknown): error is Error {
  if (error instanceof OidcRefusedError || error instanceof client.AuthorizationResponseError) return true;
  if (error instanceof client.ResponseBodyError) return error.status < 500 && error.status !== 429;
  return error instanceof client.WWWAuthenticateChallengeError && error.status < 500;
}
