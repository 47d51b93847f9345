import { Controller, Get, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../src/app.module.js';
import { Public, RequireScope } from '../../src/access/access.decorators.js';
import { type Scope, SCOPES } from '../../src/access/scopes.js';
import { readEnv } from '../../src/platform/config/env.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { call, NAMED_OPERATIONS, OPERATIONS, ROUTES, SharedResources } from '../support/http/operations.js';
import { expectError, expectErrorOf } from '../support/http/expect-errors.js';
import { routesOf } from '../support/http/routes.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { startService, useService } from '../../src/testing/test-service.js';

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

describe('scopes (D10)', () => {
  let owner: ApiClient;
  let resources: SharedResources;
  let keysWithout: Map<Scope, ApiClient>;

  const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });
  const { environment } = service;

  beforeAll(async () => {
    owner = await service.account();
    resources = new SharedResources(service, owner);
    const keyWithout = async (scope: Scope) => {
      const others = SCOPES.filter((held) => held !== scope);
      return [scope, await service.key(owner, others)] as const;
    };
    keysWithout = new Map(await Promise.all(SCOPES.map(keyWithout)));
  });

  /** A key with every scope but this one. */
  const without = (scope: Scope): ApiClient => keysWithout.get(scope) as ApiClient;

  it('are listed for every operation that the application routes, and for no other', () => {
    expect(ROUTES).toEqual(routesOf(service.app).toSorted());
  });

  it.each(NAMED_OPERATIONS)('%s is 403 with every scope but its own', async (_, operation) => {
    const ids = await resources.of(operation);

    const answer = await call(without(operation.scope), operation, ids);
    expectErrorOf(operation, answer, 'PermissionError', { required_scope: operation.scope });
  });

  it.each(NAMED_OPERATIONS)('%s succeeds with its own scopes alone', async (_, operation) => {
    const { owner: account, ids } = await resources.forSuccess(operation);
    const only = await service.key(account, [operation.scope, ...(operation.alsoScopes ?? [])]);

    const answer = await call(only, operation, ids);
    expect([answer.status, answer.body.error]).toEqual([operation.success, undefined]);
  });

  it.each(
    NAMED_OPERATIONS.flatMap(([name, operation]) =>
      (operation.alsoScopes ?? []).map((scope) => [name, scope, operation] as const),
    ),
  )('%s is 403 without %s as well', async (_, scope, operation) => {
    const ids = await resources.of(operation);

    expectErrorOf(operation, await call(without(scope), operation, ids), 'PermissionError', { required_scope: scope });
  });

  it.each(NAMED_OPERATIONS)('%s takes the key as Authorization: Bearer key.secret (D45)', async (_, operation) => {
    const { owner: account, ids } = await resources.forSuccess(operation);
    const { key, secret } = account.credentials;

    const headers = { Authorization: `Bearer ${key}.${secret}` };
    await call({ url: service.url, headers }, operation, ids).expect(operation.success);
  });

  it.each(NAMED_OPERATIONS)('%s is 401 without credentials', async (_, operation) => {
    const ids = await resources.of(operation);

    expectErrorOf(operation, await call({ url: service.url, headers: {} }, operation, ids), 'AuthenticationError');
  });

  it('are asked for before the existence of anything (D14)', async () => {
    const nothing = { key_id: 'x', webhook_id: 'x', delivery_id: 'x', recording_id: 'x' };
    for (const operation of OPERATIONS) {
      const answer = await call(without(operation.scope), operation, nothing, '?unknown=1');
      expectErrorOf(operation, answer, 'PermissionError', { required_scope: operation.scope });
    }
  });

  it('of an added module are asked for like all others, and its routes are seen by these tests', async () => {
    const extended = await startService(environment, { ROLES: 'api' }, [{ module: NotesModule }]);
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
    const env = readEnv({ ...environment.variables, ROLES: 'api' });
    const imports = [AppModule.register(env, [{ module: ForgottenModule }])];
    const module = await Test.createTestingModule({ imports }).compile();

    await expect(module.init()).rejects.toThrow('ForgottenController.list');
    await module.close();
  });
});
