import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Controller, Get, Module } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { Public, RequireScope } from '../../src/access/access.decorators.js';
import { type Scope, SCOPES } from '../../src/access/scopes.js';
import { AppModule } from '../../src/app.module.js';
import { AccountService } from '../../src/modules/account/account.service.js';
import { readEnv } from '../../src/platform/config/env.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { checkRows } from '../support/check-rows.js';
import { expectError, expectErrorOf, expectHeaders, expectInvalidOf } from '../support/http/expect-errors.js';
import {
  call,
  createResources,
  type Ids,
  NAMED_OPERATIONS,
  type Operation,
  ROUTES,
  SharedResources,
} from '../support/http/operations.js';
import { ROOT } from '../support/paths.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { upload } from '../support/state/recording-states.js';

@Controller('v1/notes')
class NotesController {
  @Get()
  @RequireScope('recordings:read')
  list(): object {
    return { notes: [] };
  }

  @Get('public/:note_id')
  @Public()
  share(): object {
    return {};
  }
}

@Module({ controllers: [NotesController] })
class NotesModule {}

@Controller('v1/forgotten')
class ForgottenController {
  @Get()
  list(): object {
    return {};
  }
}

@Module({ controllers: [ForgottenController] })
class ForgottenModule {}

const NOTHING: Ids = {
  key_id: 'x',
  token_issuer_id: 'x',
  webhook_id: 'x',
  delivery_id: 'x',
  recording_id: 'x',
  share_id: 'x',
};
/** Written in the background when a key is used, also by the tests themselves. */
const LAGGING = ['usage_count', 'last_used_at'];

const keysOf = (value: unknown): string[] => Object.keys(value as object).toSorted();
/** An end user is no resource: each account can have one of the same name. An account has one export, or none. */
const namesResource = ({ path, needs }: Operation): boolean =>
  path.replace(':user_id', '').includes('_id') || needs === 'export';

const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });
let owner: ApiClient;
let stranger: ApiClient;
let resources: SharedResources;

beforeAll(async () => {
  [owner, stranger] = await Promise.all([service.account(), service.account()]);
  resources = new SharedResources(service, owner);
});

describe('every operation', () => {
  it('that the application routes is in the table of these tests, and no other', () => {
    expect(ROUTES).toEqual(routesOf(service.app).toSorted());
  });

  it.each(NAMED_OPERATIONS)('succeeds with its own scopes alone, with exactly its keys: %s', async (_, operation) => {
    const { owner: account, ids } = await resources.forSuccess(operation);
    const scopes = [operation.scope, ...(operation.alsoScopes ?? [])];
    const { credentials } = await service.key(account, scopes);
    // As a key of its own and not as the usual pair: also D45.
    const headers = { Authorization: `Bearer ${credentials.key}.${credentials.secret}` };
    const answer = await call({ url: service.url, headers }, operation, ids);
    expect([answer.status, answer.body.error]).toEqual([operation.success, undefined]);
    expectHeaders(answer);
    // D68.
    expect(answer.headers['x-service-scopes']).toBe(scopes.join(', '));

    if (operation.method === 'GET') {
      const headed = await request(service.url).head(answer.request.url.slice(service.url.length)).set(headers);
      expect([headed.status, headed.text ?? '']).toEqual([200, '']);
      expect(headed.headers['content-type']).toBe(answer.headers['content-type']);
      expectHeaders(headed);
    }
    if (operation.success === 204) return expect(answer.text).toBe('');
    const type = operation.isStream ? 'text/event-stream' : 'application/json';
    expect(answer.headers['content-type']).toBe(operation.type ?? `${type}; charset=utf-8`);
    if (operation.type) return;
    // D3.
    expect(keysOf(answer.body)).toEqual(keysOf(operation.shape));
    if (operation.isStream || operation.isCompatible) return;

    const uris = [...answer.text.matchAll(/"(?:uri|\w+_uri)":"([^"]+)"/g)].map(([, uri]) => uri as string);
    // An access token is no resource, and neither are a URL, an erased user and a vocabulary.
    const isResource = !['expires_at', 'complete', 'vocabulary'].some((key) => key in answer.body);
    if ('uri' in answer.body || isResource) expect(uris.length).toBeGreaterThan(0);
    for (const uri of uris) await account.get(uri).expect(200);
  });

  it('refuses a query parameter that it does not know, and names it (D16)', () =>
    checkRows(NAMED_OPERATIONS, async (_, operation) => {
      const ids = await resources.of(operation);
      for (const [query, name] of [
        ['?fo%20o=1', 'fo o'],
        ['?__proto__=1', '__proto__'],
      ] as const) {
        expectInvalidOf(operation, await call(owner, operation, ids, query), name, /not a parameter/);
      }
    }));
});

describe('who may not call an operation (D10)', () => {
  it('is refused before the request is looked at: 401, 403 when suspended, 403 without a scope (D4, D14)', async () => {
    const suspended = await service.account();
    await service.app.get(AccountService).update(suspended.accountId, { status: 'suspended' });
    const keyWithout = async (scope: Scope) => {
      const others = SCOPES.filter((held) => held !== scope);
      return [scope, await service.key(owner, others)] as const;
    };
    const keysWithout = new Map(await Promise.all(SCOPES.map(keyWithout)));

    await checkRows(NAMED_OPERATIONS, async (_, operation) => {
      const ask = (by: Pick<ApiClient, 'url' | 'headers'>) => call(by, operation, NOTHING, '?unknown=1');
      expectErrorOf(operation, await ask({ url: service.url, headers: {} }), 'AuthenticationError');
      expectErrorOf(operation, await ask(suspended), 'AccountSuspendedError');
      for (const scope of [operation.scope, ...(operation.alsoScopes ?? [])]) {
        const answer = await ask(keysWithout.get(scope) as ApiClient);
        expectErrorOf(operation, answer, 'PermissionError', { required_scope: scope });
      }
    });
  });

  it('is refused by an added module as well, and its routes are seen by these tests', async () => {
    const extended = await startService(service.environment, { ROLES: 'api' }, [{ module: NotesModule }]);
    try {
      const added = ['GET /v1/notes', 'GET /v1/notes/public/:note_id'];
      expect(routesOf(extended.app).toSorted()).toEqual([...ROUTES, ...added].toSorted());

      const weak = (await service.key(owner, ['webhooks:read'])).at(extended.url);
      expectError(await weak.get('/v1/notes'), 'PermissionError', { required_scope: 'recordings:read' });
      await owner.at(extended.url).get('/v1/notes').expect(200);
      await weak.get('/v1/notes/public/1').expect(200);
    } finally {
      await extended.close();
    }
  });

  it('must be declared: an application with a handler that declares nothing does not start', async () => {
    const env = readEnv({ ...service.environment.variables, ROLES: 'api' });
    const imports = [AppModule.register(env, [{ module: ForgottenModule }])];
    const module = await Test.createTestingModule({ imports }).compile();

    await expect(module.init()).rejects.toThrow('ForgottenController.list');
    await module.close();
  });
});

describe('what belongs to another account is not there', () => {
  /** Every row of an account in every table that names accounts, those of tables yet to come included. */
  async function everythingOf({ accountId }: ApiClient): Promise<object> {
    const tables = await service.database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY 1`,
    );
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['api_keys', 'recordings', 'webhooks']));
    const rowsOf = (table: string, column: string) =>
      service.database.query<object>(
        `SELECT to_jsonb(t) - $2::text[] AS row FROM ${table} t WHERE t.${column} = $1 ORDER BY 1`,
        [accountId, LAGGING],
      );
    return await Promise.all([rowsOf('accounts', 'id'), ...tables.map(({ name }) => rowsOf(name, 'account_id'))]);
  }

  it('for any operation: 404 as for what never was, no trace of it, and nothing changes', async () => {
    // Nothing of it is written in the background, as the errors of other tests are.
    const untouched = await service.account();
    const theirs = new SharedResources(service, untouched);
    const all = await Promise.all(NAMED_OPERATIONS.map(([, operation]) => theirs.of(operation)));
    const before = await everythingOf(untouched);
    const changed = (id: string) => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');

    const rows = NAMED_OPERATIONS.map(([name, operation], i) => [name, operation, all[i] as Ids] as const);
    await checkRows(rows, async (_, operation, ids) => {
      const answer = await call(stranger, operation, ids);
      if (namesResource(operation)) {
        expectError(answer, 'NotFoundError');
        const never = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, changed(id)]));
        expect((await call(stranger, operation, never as unknown as Ids)).body).toEqual(answer.body);
      } else expect(answer.status).toBe(operation.success);
      for (const mark of [...Object.values(ids), untouched.accountId, untouched.credentials.id]) {
        expect(answer.text).not.toContain(mark);
      }
    });
    expect(await everythingOf(untouched)).toEqual(before);
  });

  it('in no page, no total and no usage (D8, D17)', async () => {
    const reader = await service.account();
    const mine = await createResources(service, reader, {});
    const own = [...Object.values(mine), reader.credentials.id] as string[];
    await upload(owner);
    for (const [path, collection] of [
      ['/v1/recordings', 'recordings'],
      ['/v1/recordings?status=processing&date_from=2020-01-01', 'recordings'],
      ['/v1/webhooks?status=active', 'webhooks'],
      ['/v1/account/api-keys?status=active', 'api_keys'],
    ] as const) {
      const { body } = await reader.get(path).expect(200);
      const ids = body[collection].map(({ id }: { id: string }) => id) as string[];
      expect(ids.length).toBeGreaterThan(0);
      expect(own).toEqual(expect.arrayContaining(ids));
      expect(body.total).toBe(ids.length);
    }
    const { body } = await stranger.get('/v1/account').expect(200);
    expect([body.id, body.usage.previous_month.recordings_count]).toEqual([stranger.accountId, 0]);
    expect((await reader.get('/v1/account')).body.usage.current_month.recordings_count).toBe(1);
  });
});

describe('the description of the API', () => {
  let document: OpenAPIObject;

  beforeAll(async () => {
    document = JSON.parse(await readFile(join(ROOT, 'openapi.json'), 'utf8'));
  });

  it('in the repository is the one of the built service: after a change run "npm run openapi"', async () => {
    const command = [join(ROOT, 'dist', 'commands', 'openapi.js')];
    const { stdout } = await promisify(execFile)(process.execPath, command, { maxBuffer: 2 ** 26 });
    expect(JSON.parse(stdout)).toEqual(document);
  });

  it('names every operation that the router knows, and no other', () => {
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(described.toSorted()).toEqual(ROUTES);
  });

  it('says for every operation which scope it needs, what it answers, and which errors there are', () => {
    for (const item of Object.values(document.paths)) {
      for (const operation of Object.values(item) as Record<string, unknown>[]) {
        // One that takes no credentials, or a session, says so.
        if (operation.security === undefined)
          expect(operation['x-required-scope']).toMatch(/^(recordings|webhooks|account):(read|write)$/);
        else if (operation['x-required-scope'] === undefined)
          expect(operation.security).toEqual(operation['x-session'] ? [{ session: [] }] : []);
        expect(Object.keys(operation.responses as object)).toEqual(
          expect.arrayContaining(['400', '401', '403', '429', '500', '503']),
        );
      }
    }
  });

  it('is summed up in 2,000 words at /llms.txt, every path included', async () => {
    const { text } = await request(service.url)
      .get('/llms.txt')
      .expect(200)
      .expect('Content-Type', /^text\/plain/);
    expect(text.split(/\s+/).length).toBeLessThan(2000);
    const names = Object.keys(document.paths).map((path) =>
      path
        .replaceAll(/\/\{\w+\}/g, '')
        .split('/')
        .at(-1),
    );
    expect(names.filter((name) => !text.includes(`/${name}`))).toEqual([]);
  });

  it('gives an example for every field of every answer', () => {
    const withoutExample = Object.entries(document.components?.schemas ?? {})
      .filter(([name]) => name.endsWith('View'))
      .flatMap(([name, schema]) =>
        Object.entries((schema as { properties: Record<string, object> }).properties)
          .filter(([, property]) => !['example', 'enum', '$ref', 'allOf', 'items'].some((key) => key in property))
          .map(([property]) => `${name}.${property}`),
      );
    expect(withoutExample).toEqual([]);
  });
});

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
}

/** Every operation under `/v1` that the running service's router knows, as `GET /v1/recordings/:recording_id`. */
function routesOf(app: NestExpressApplication): string[] {
  const { stack } = (app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } }).router;
  return stack.flatMap(({ route }) => {
    // The catch-all that answers unknown paths is no operation.
    if (!route?.path.startsWith('/v1/') || route.path.includes('*')) return [];
    return Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`);
  });
}
