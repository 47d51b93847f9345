import type { ClientOptions, RateLimit, VoiceNotes } from '../index.js';
import { type Connection, findConnection } from './profiles/connection.js';
import { Output, type OutputOptions } from './terminal/output.js';

/** Options of every command. */
export interface GlobalOptions extends OutputOptions {
  verbose?: boolean;
  profile?: string;
}

/** What every command works with. */
export class Context {
  readonly output: Output;
  /** The limit of requests, as the last answer told it. */
  rateLimit: RateLimit | null = null;
  private connecting: Promise<Connection> | null = null;

  constructor(readonly options: GlobalOptions) {
    this.output = new Output(options);
  }

  /** @throws CliError without credentials */
  connection(): Promise<Connection> {
    this.connecting ??= findConnection(this.options.profile, (text) => this.output.warn(text));
    return this.connecting;
  }

  async client(options: Partial<ClientOptions> = {}): Promise<VoiceNotes> {
    const { url, key, secret } = await this.connection();
    return await this.clientFor({ baseUrl: url, key, secret, ...options });
  }

  async clientFor(options: ClientOptions): Promise<VoiceNotes> {
    const { rateLimitOf, VoiceNotes: Client } = await import('../index.js');
    const onResponse = (response: Response) => {
      this.rateLimit = rateLimitOf(response.headers) ?? this.rateLimit;
    };
    return new Client({ onResponse, ...options });
  }
}
