import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the provider says of somebody. Who is disabled is unknown to it. */
export interface ProvidedPerson {
  name?: string;
  email?: string;
  groups?: string[];
  isDisabled?: boolean;
}

type Provider = import('oidc-provider').Provider;

const CLIENT = { client_id: 'voice-notes', client_secret: 'a secret of this test alone' };
/** `oidc-provider` wants a newer Node, says so at each start, and works with this one. */
const isUnwanted = (text: unknown): boolean => String(text).startsWith('oidc-provider');

/** A real OpenID provider, which signs in the one that `person` names without asking. */
export class OpenIdProvider {
  readonly people = new Map<string, ProvidedPerson>();
  /** The subject that signs in next; null refuses. */
  subject: string | null = null;
  /** Answers with server errors. */
  isDown = false;
  readonly paths: string[] = [];
  private provider: Provider | null = null;

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  static async listen(): Promise<OpenIdProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new OpenIdProvider(server);
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** An item of OIDC_PROVIDERS. */
  settings(accountId: string, others: object = {}): object {
    return { name: 'example', issuer: this.issuer, ...CLIENT, account_id: accountId, ...others };
  }

  /** @param origin of the service to which it sends people back */
  async serve(origin: string, names: readonly string[] = ['example']): Promise<void> {
    const { warn } = console;
    console.warn = (...texts: unknown[]) => texts.some(isUnwanted) || warn(...texts);
    const { Provider } = await import('oidc-provider');
    this.provider = new Provider(this.issuer, {
      clients: [
        {
          ...CLIENT,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: names.map((name) => `${origin}/sign-in/${name}/callback`),
          post_logout_redirect_uris: [`${origin}/`],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email'] },
      ttl: { Interaction: 600, Session: 3600, Grant: 3600, AccessToken: 600, RefreshToken: 3600, IdToken: 600 },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_: unknown, subject: string) => {
        const person = this.people.get(subject);
        if (!person || person.isDisabled) return undefined;
        const { name, email, groups } = person;
        return { accountId: subject, claims: () => ({ sub: subject, name, email, groups }) };
      },
    });
    console.warn = warn;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    this.paths.push(path);
    if (this.isDown || !this.provider) {
      response.writeHead(503).end();
      return;
    }
    if (path.startsWith('/interaction/')) await this.interact(this.provider, request, response);
    else await this.provider.callback()(request, response);
  }

  private async interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    const options = { mergeWithLastSubmission: true };
    if (this.subject === null)
      return await provider.interactionFinished(
        request,
        response,
        { error: 'access_denied' },
        { mergeWithLastSubmission: false },
      );
    if (prompt.name === 'login')
      return await provider.interactionFinished(request, response, { login: { accountId: this.subject } }, options);
    const grant = new provider.Grant({ accountId: session?.accountId, clientId: params.client_id as string });
    grant.addOIDCScope(params.scope as string);
    const grantId = await grant.save();
    await provider.interactionFinished(request, response, { consent: { grantId } }, options);
  }
}
