import { Controller, Get, Module } from '@nestjs/common';
import { RequireScope } from '../../../src/access/access.decorators.js';
import { AppModule } from '../../../src/app.module.js';
import type { Extension } from '../../../src/extension.js';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { DiskObjectStore } from '../../../src/platform/storage/disk.object-store.js';
import { useService } from '../../../src/testing/test-service.js';

@Controller('v1/reports')
class ReportsController {
  @Get()
  @RequireScope('reports:read')
  list(): object {
    return { reports: [] };
  }
}

@Module({ controllers: [ReportsController] })
class ReportsModule {}

const extension: Extension = {
  module: ReportsModule,
  scopes: ['reports:read'],
  plans: [{ name: 'team', limit: { rate: 30, burst: 45 } }],
  eventKinds: [
    {
      kind: 'report.ready',
      description: 'A report can be read.',
      schema: { required: ['pages'], properties: { pages: { type: 'integer' } } },
      example: { event: 'report.ready', pages: 7 },
    },
  ],
  objectStores: [
    {
      name: 'archive',
      async open({ storageDir }) {
        const store = new DiskObjectStore(`${storageDir}/archive`, 'archive-bucket');
        await store.prepare();
        return store;
      },
    },
  ],
};

describe('what an extension registers', () => {
  const service = useService({ ROLES: 'api', STORAGE_DRIVER: 'archive' }, { extensions: [extension] });

  it('a scope: required by its route, given to API keys, and named when it is missing', async () => {
    const owner = await service.account();
    const { body: created } = await owner
      .post('/v1/account/api-keys', { name: 'Reports', scopes: ['reports:read'] })
      .expect(201);
    expect(created.scopes).toEqual(['reports:read']);
    const reader = await service.key(owner, ['reports:read']);
    await reader.get('/v1/reports').expect(200);

    const stranger = await service.key(owner, ['recordings:read']);
    const { body } = await stranger.get('/v1/reports').expect(403);
    expect(body.error.details).toEqual({ required_scope: 'reports:read' });
  });

  it('a kind of event: in the catalogue and the description, with its schema and example', async () => {
    const client = await service.account();
    const { body: types } = await client.get('/v1/event-types').expect(200);
    expect(types.event_types).toContainEqual({
      name: 'report.ready',
      description: 'A report can be read.',
      can_subscribe: true,
      in_feed: true,
      example: { event: 'report.ready', pages: 7 },
    });
    const { body: document } = await client.get('/openapi.json').expect(200);
    expect(Object.keys(document.webhooks)).toContain('report.ready');
    expect(document.components.schemas.ReportReadyBody).toMatchObject({
      required: ['event', 'pages'],
      properties: { event: { enum: ['report.ready'] }, pages: { type: 'integer' } },
    });
    await client.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['report.ready'] }).expect(201);
  });

  it('a plan: shown on the account and enforced with its limit', async () => {
    const client = await service.account();
    await service.app.get(AccountService).update(client.accountId, { plan: 'team' });
    const { body, headers } = await client.get('/v1/account').expect(200);
    expect(body.plan).toBe('team');
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '30', 'x-ratelimit-remaining': '29' });
  });

  it('an object store: takes the uploads when STORAGE_DRIVER names it', async () => {
    const client = await service.account();
    const { body } = await client.upload('go-forward-ten-meters.ogg').expect(201);
    expect(body.s3_bucket).toBe('archive-bucket');
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
  });

  it('an unknown object store is refused at boot, with the names of the known ones', () => {
    const env = readEnv({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgres://unused',
      REDIS_URL: 'redis://unused',
      SECRET_KEY: 'a secret key of at least 32 characters, for tests',
      STORAGE_DRIVER: 'tape',
    });
    expect(() => AppModule.register(env, [extension])).toThrow('STORAGE_DRIVER must be one of disk, s3, archive');
  });
});
