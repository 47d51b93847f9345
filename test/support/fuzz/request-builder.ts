import { randomUUID } from 'node:crypto';
import { SCOPES } from '../../../src/access/scopes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { fail, transcribe } from '../state/recording-states.js';
import type { DescribedOperation } from './description.js';
import { exampleBody } from './rule-plans.js';
import { type CredentialsKind, MISSPELLINGS, type PathId, type Plan } from './plan.js';
import { encodeBody, encodeQuery, send, type WireRequest } from './wire.js';

/** Below every ceiling of an account: 50 webhooks, 100 keys, and the 2,000 requests of its burst. */
const REQUESTS_OF_AN_ACCOUNT = 25;

/** What a row can be brought to before a request meets it; rows of other kinds are as they were made. */
const STATES: Record<string, ((service: TestService, id: string) => Promise<void>)[]> = {
  recording_id: [async () => undefined, transcribe, fail],
};

/**
 * Makes of a plan a request that can be sent: with credentials, and with rows behind its path ids. A request that may
 * change its row gets one of its own, so that each request finds what it asks for whatever went before it.
 */
export class RequestBuilder {
  private owner: ApiClient | null = null;
  private token = '';
  private requests = 0;
  private readonly ownRows = new Map<string, string>();
  private readonly foreignRows = new Map<string, string>();

  private constructor(
    private readonly service: TestService,
    private readonly operations: DescribedOperation[],
    private readonly stranger: ApiClient,
  ) {}

  static async open(service: TestService, operations: DescribedOperation[]): Promise<RequestBuilder> {
    return new RequestBuilder(service, operations, await service.account());
  }

  async prepare(operation: DescribedOperation, plan: Plan): Promise<WireRequest> {
    const owner = await this.currentOwner();
    let target = operation.path;
    for (const [name, id] of Object.entries(plan.ids)) {
      target = target.replace(`{${name}}`, await this.spell(owner, operation, name, id));
    }
    // What is left names no row: any value will do.
    target = target.replaceAll(/\{\w+\}/g, 'any');
    const { headers, body } = encodeBody(plan.body);
    const credentials = await this.headersOf(owner, plan.credentials, operation);
    return {
      method: operation.method,
      target: target + encodeQuery(plan.query),
      headers: { ...headers, ...plan.headers, ...credentials },
      body,
    };
  }

  private async currentOwner(): Promise<ApiClient> {
    if (!this.owner || this.requests++ >= REQUESTS_OF_AN_ACCOUNT) {
      this.requests = 0;
      this.ownRows.clear();
      this.owner = await this.service.account();
      const { body } = await this.owner.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
      this.token = body.token as string;
    }
    return this.owner;
  }

  private async headersOf(
    owner: ApiClient,
    kind: CredentialsKind,
    { scope }: DescribedOperation,
  ): Promise<Record<string, string>> {
    if (kind === 'none') return {};
    if (kind === 'token') return { Authorization: `Bearer ${this.token}` };
    // Well-formed, and the secret of somebody else: a made-up one would fail its checksum before anything is asked.
    if (kind === 'wrong secret') {
      return { ...owner.headers, 'X-Service-API-Secret': this.stranger.credentials.secret };
    }
    if (kind === 'pair') return owner.headers;
    const others = SCOPES.filter((held) => held !== scope);
    return (await this.service.key(owner, others)).headers;
  }

  private async spell(owner: ApiClient, operation: DescribedOperation, name: string, id: PathId): Promise<string> {
    if (id.kind === 'nonsense') return id.encoded;
    if (id.kind === 'foreign') return await this.kept(this.foreignRows, name, () => this.make(this.stranger, name, 0));
    const state = id.kind === 'own' ? id.state % (STATES[name]?.length ?? 1) : 0;
    const make = (): Promise<string> => this.make(owner, name, state);
    const row = operation.method === 'GET' ? await this.kept(this.ownRows, `${name} ${state}`, make) : await make();
    return id.kind === 'misspelt' ? MISSPELLINGS[id.way](row) : row;
  }

  private async kept(rows: Map<string, string>, key: string, make: () => Promise<string>): Promise<string> {
    const id = rows.get(key) ?? (await make());
    rows.set(key, id);
    return id;
  }

  /** By the operation that creates in the collection whose items the parameter names, with the document's examples. */
  private async make(client: ApiClient, parameter: string, state: number): Promise<string> {
    const item = this.operations.find(({ path }) => path.includes(`/{${parameter}}`));
    const collection = item?.path.slice(0, item.path.indexOf(`/{${parameter}}`));
    const creation = this.operations.find(({ method, path }) => method === 'POST' && path === collection);
    if (!creation) throw new Error(`no operation creates what ${parameter} names`);
    const { headers, body } = encodeBody(exampleBody(creation));
    const { method, path } = creation;
    const credentials = { ...client.headers, 'Idempotency-Key': randomUUID() };
    const answer = await send(this.service.url, {
      method,
      target: path,
      headers: { ...headers, ...credentials },
      body,
    });
    if (answer.status !== 201) throw new Error(`${creation.name} with its examples: ${answer.text}`);
    const { id } = JSON.parse(answer.text) as { id: string };
    await STATES[parameter]?.[state]?.(this.service, id);
    return id;
  }
}
