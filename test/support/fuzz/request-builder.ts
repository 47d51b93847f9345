import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { SCOPES } from '../../../src/access/scopes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { invitationFor, linkFor, signIn } from '../http/session-client.js';
import { SoftwareAuthenticator } from '../http/software-authenticator.js';
import { filePart, form, FORM_TYPE, textPart } from '../http/multipart.js';
import { exportAccount } from '../state/account-export.js';
import { failDelivery } from '../state/recording-events.js';
import { type DescribedOperation, idParameters, isChosenText, isSigned } from './description.js';
import type { FuzzAnswer } from './judgement.js';
import {
  bringTo,
  type CredentialsKind,
  type Form,
  type FormPart,
  MISSPELLINGS,
  type PathId,
  type Plan,
  sample,
  statesOf,
} from './plan.js';
import { exampleBody } from './rule-plans.js';

/** Below every ceiling of an account: 50 webhooks, 100 keys, and the 2,000 requests of its burst. */
const REQUESTS_OF_AN_ACCOUNT = 25;

/**
 * Makes of a plan a request that can be sent: with credentials, and with rows behind its path ids. A request that may
 * change its row gets one of its own, so that each request finds what it asks for whatever went before it.
 */
export class RequestBuilder {
  private owner: ApiClient | null = null;
  private requests = 0;
  private readonly ownRows = new Map<string, string>();
  private readonly foreignRows = new Map<string, string>();
  private authenticator: SoftwareAuthenticator | null = null;

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
    const rows = new Map<string, string>();
    for (const { name } of idParameters(operation)) {
      const id = plan.ids[name] as PathId;
      const row = id.kind === 'nonsense' ? id.encoded : await this.rowFor(owner, operation, name, id, rows);
      target = target.replace(`{${name}}`, () => (id.kind === 'misspelt' ? MISSPELLINGS[id.way](row) : row));
    }
    // What is left names no row: any value will do.
    target = target.replaceAll(/\{\w+\}/g, 'any');
    if (operation.method === 'GET' && operation.path.startsWith('/v1/account/export'))
      await this.kept(this.ownRows, 'export', async () => (await exportAccount(owner)).id);
    const { headers, body } = encodeBody(await this.exchangeable(owner, operation, plan.body));
    const credentials = await this.headersOf(owner, plan.credentials, operation);
    return {
      method: operation.method,
      target: target + encodeQuery(await this.signed(owner, operation, plan.query, rows)),
      headers: { ...headers, ...plan.headers, ...credentials },
      body,
    };
  }

  private async currentOwner(): Promise<ApiClient> {
    if (!this.owner || this.requests++ >= REQUESTS_OF_AN_ACCOUNT) {
      this.requests = 0;
      this.ownRows.clear();
      this.owner = await this.service.account();
    }
    return this.owner;
  }

  private async headersOf(
    owner: ApiClient,
    kind: CredentialsKind,
    { scope }: DescribedOperation,
  ): Promise<Record<string, string>> {
    if (kind === 'none') return {};
    if (kind === 'token') {
      // A new one: a request may have voided those before it.
      const { body } = await owner.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
      return { Authorization: `Bearer ${body.token as string}` };
    }
    // Well-formed, and the secret of somebody else: a made-up one would fail its checksum before anything is asked.
    if (kind === 'wrong secret') {
      return { ...owner.headers, 'X-Service-API-Secret': this.stranger.credentials.secret };
    }
    if (kind === 'pair') return owner.headers;
    const others = SCOPES.filter((held) => held !== scope);
    return (await this.service.key(owner, others)).headers;
  }

  /** @param rows of the owner that this request names already: what belongs to one of them is made for it. */
  private async rowFor(
    owner: ApiClient,
    operation: DescribedOperation,
    name: string,
    id: Exclude<PathId, { kind: 'nonsense' }>,
    rows: Map<string, string>,
  ): Promise<string> {
    if (id.kind === 'foreign') {
      return await this.kept(this.foreignRows, name, () => this.make(this.stranger, name, 0, new Map()));
    }
    const state = id.kind === 'own' ? id.state % statesOf(name) : 0;
    const make = (): Promise<string> => this.make(owner, name, state, rows);
    const key = [name, state, ...rows.values()].join(' ');
    const row = operation.method === 'GET' ? await this.kept(this.ownRows, key, make) : await make();
    rows.set(name, row);
    return row;
  }

  /** The document's example of a signature stands for a right one, of the recording that is named if it is our own. */
  private async signed(
    owner: ApiClient,
    operation: DescribedOperation,
    query: Plan['query'],
    rows: Map<string, string>,
  ): Promise<Plan['query']> {
    const example = operation.parameters.find(({ name }) => name === 'token')?.schema.example;
    if (!isSigned(operation) || !query.some(([, value]) => value === example)) return query;
    if (operation.path.endsWith('/shares/audio')) {
      const { body } = await owner.post('/v1/shares/open', { token: await this.shareToken(owner) }).expect(200);
      const signature = new URL(body.audio_url as string, this.service.url).searchParams.get('token') ?? '';
      return query.map(([name, value]) => [name, value === example ? signature : value]);
    }
    const id = rows.get('recording_id') ?? (await this.make(owner, 'recording_id', 0, rows));
    const { body } = await owner.post(`/v1/recordings/${id}/audio-url`).expect(201);
    const token = new URL(body.url as string, this.service.url).searchParams.get('token') ?? '';
    return query.map(([name, value]) => [name, value === example ? token : value]);
  }

  /** The document's example of a code, a share, a link or a passkey stands for one that can be used. */
  private async exchangeable(
    owner: ApiClient,
    operation: DescribedOperation,
    body: Plan['body'],
  ): Promise<Plan['body']> {
    if (body?.kind !== 'json') return body;
    if (operation.path.endsWith('/shares/open')) {
      return { ...body, text: body.text.replace(/vnsh_[\w-]{43}(?=")/, await this.shareToken(owner)) };
    }
    if (operation.path.endsWith('/sessions')) {
      const link = await linkFor(this.service, owner.accountId, { email: 'ada@example.com' });
      return { ...body, text: body.text.replace(/vnl_[\w-]{43}(?=")/, link) };
    }
    if (operation.path.endsWith('/sessions/passkey')) {
      const example = JSON.stringify(operation.body?.schema.properties?.['credential']?.example);
      if (!body.text.includes(example)) return body;
      return { ...body, text: body.text.replace(example, JSON.stringify(await this.signedByPasskey(owner))) };
    }
    if (operation.path.startsWith('/v1/invitations/')) {
      const administrator = await signIn(this.service, owner.accountId, { email: 'ada@example.com' });
      const link = await invitationFor(administrator, { email: 'ben@example.com', role: 'viewer' });
      return { ...body, text: body.text.replace(/vni_[\w-]{43}(?=")/, link) };
    }
    if (!operation.path.endsWith('/sign-in-codes/exchange')) return body;
    const { code } = (await owner.post('/v1/account/sign-in-codes').expect(201)).body as { code: string };
    return { ...body, text: body.text.replace(/vnc_[\w-]{43}(?=")/, code) };
  }

  private async signedByPasskey(owner: ApiClient): Promise<object> {
    this.authenticator ??= await this.addPasskey(owner);
    const { body } = await owner.post('/v1/sessions/passkey-options').expect(200);
    return this.authenticator.get(body.public_key);
  }

  private async addPasskey(owner: ApiClient): Promise<SoftwareAuthenticator> {
    const person = await signIn(this.service, owner.accountId, { email: 'ada@example.com' });
    await this.service.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [person.session.id]);
    const { body } = await person.send('post', '/v1/session/passkeys/options', {}).expect(200);
    const authenticator = new SoftwareAuthenticator(`https://${new URL(this.service.url).host}`);
    const credential = authenticator.create(body.public_key);
    await person.send('post', '/v1/session/passkeys', { name: 'Laptop', credential }).expect(201);
    return authenticator;
  }

  /** Of a recording of its own, with its audio. */
  private async shareToken(owner: ApiClient): Promise<string> {
    const recordingId = await this.create(owner, 'recording_id');
    const { body } = await owner.post(`/v1/recordings/${recordingId}/shares`, { audio: true }).expect(201);
    return (body.url as string).slice('/shared#'.length);
  }

  private async kept(rows: Map<string, string>, key: string, make: () => Promise<string>): Promise<string> {
    const id = rows.get(key) ?? (await make());
    rows.set(key, id);
    return id;
  }

  private async make(client: ApiClient, parameter: string, state: number, rows: Map<string, string>): Promise<string> {
    // Events make deliveries, and no operation does.
    if (parameter === 'delivery_id') {
      const webhookId = rows.get('webhook_id') ?? (await this.create(client, 'webhook_id'));
      return await failDelivery(this.service, client.accountId, webhookId);
    }
    if (parameter === 'share_id') {
      const recordingId = rows.get('recording_id') ?? (await this.create(client, 'recording_id'));
      return (await client.post(`/v1/recordings/${recordingId}/shares`, {}).expect(201)).body.id as string;
    }
    const isText = this.operations.some((operation) =>
      idParameters(operation).some((other) => other.name === parameter && isChosenText(other)),
    );
    if (isText) return 'user-1';
    const id = await this.create(client, parameter);
    await bringTo(state, parameter, this.service, id, client);
    return id;
  }

  /** By the operation that creates in the collection whose items the parameter names, with the document's examples. */
  private async create(client: ApiClient, parameter: string): Promise<string> {
    const item = this.operations.find(({ path }) => path.includes(`/{${parameter}}`));
    const collection = item?.path.slice(0, item.path.indexOf(`/{${parameter}}`));
    const creation = this.operations.find(({ method, path }) => method === 'POST' && path === collection);
    if (!creation) throw new Error(`no operation creates what ${parameter} names`);
    const example = exampleBody(creation);
    if (example?.kind === 'form') example.parts.push(...CALLBACK);
    const { headers, body } = encodeBody(example);
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
    return id;
  }
}

/** Both or neither: a schema cannot say so, and its examples leave them out. So an upload has a callback to get. */
const CALLBACK: FormPart[] = [
  { name: 'callback_url', content: 'https://hooks.example.com/voice-notes' },
  { name: 'callback_secret', content: 'a-secret-of-at-least-16-characters' },
];

/** A request as it goes over the wire. */
export interface WireRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

const NO_ANSWER_MS = 15_000;

function encodeBody(body: Plan['body']): Pick<WireRequest, 'headers' | 'body'> {
  if (!body) return { headers: {}, body: null };
  if (body.kind === 'json') {
    const headers: Record<string, string> = body.contentType === null ? {} : { 'Content-Type': body.contentType };
    return { headers, body: Buffer.from(body.text) };
  }
  const types = { form: FORM_TYPE, json: 'application/json', 'without boundary': 'multipart/form-data' };
  return { headers: { 'Content-Type': types[body.contentType] }, body: formBytes(body) };
}

function formBytes({ parts, complete }: Form): Buffer {
  const bytes = form(...parts.map(partBytes));
  return complete ? bytes : bytes.subarray(0, bytes.length - 20);
}

function partBytes({ name, filename, content }: FormPart): Buffer {
  return filename === undefined
    ? textPart(quoted(name), content)
    : filePart(sample(content), quoted(filename), quoted(name));
}

/** As browsers write what would end the header. */
const quoted = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const encodeQuery = (query: Plan['query']): string =>
  query.length === 0 ? '' : `?${query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;

const isStream = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** On a connection of its own: what the answer to another request does to the connection is no concern here. */
export function send(url: string, { method, target, headers, body }: WireRequest): Promise<FuzzAnswer> {
  const startedAt = performance.now();
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length: Record<string, string> = body ? { 'Content-Length': String(body.length) } : {};
    const sending = request(
      { hostname, port, method, path: target, headers: { ...headers, ...length }, agent: false, timeout: NO_ANSWER_MS },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
            afterMs: performance.now() - startedAt,
          });
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (!isStream(response)) return;
          finish();
          response.destroy();
        });
        response.on('error', reject);
        response.on('end', finish);
      },
    );
    sending.on('timeout', () => sending.destroy(new Error(`no answer within ${NO_ANSWER_MS} ms`)));
    // A refusal may come, and the connection be broken, while the body is still on its way: the answer counts.
    sending.on('error', reject);
    sending.end(body ?? undefined);
  });
}
