import { migrationsOf } from '../../src/migrations/migrations.js';
import { migrationDataSource } from '../../src/platform/database/data-source.js';
import { migrate } from '../../src/platform/database/schema.js';
import { readEnv } from '../../src/platform/config/env.js';
import { type Ground, prepareGround, type Service, startService } from '../../test/support/service/service.js';
import { SERVICE_TIMEOUT } from '../../test/support/service/timeouts.js';
import { keywordAlerts } from './keyword-alerts.module.js';

jest.setTimeout(SERVICE_TIMEOUT);

describe('an added module', () => {
  let ground: Ground;
  let service: Service;

  beforeAll(async () => {
    ground = await prepareGround();
    const dataSource = migrationDataSource(readEnv(ground.environment), migrationsOf([keywordAlerts]));
    await dataSource.initialize();
    await migrate(dataSource);
    await dataSource.destroy();
    service = await startService(ground, {}, [keywordAlerts]);
  });

  afterAll(async () => {
    await service.close();
    await ground.clear();
  });

  it('hears of a transcription, keeps rows of its own, and answers for them under /v1', async () => {
    const caller = await service.account();
    const { body: recording } = await caller.upload('go-forward-ten-meters.wav').expect(201);
    await caller.finished(recording.id);

    const { body } = await caller.get('/v1/keyword-alerts').expect(200);
    expect(body).toMatchObject({ total: 1, uri: '/v1/keyword-alerts?page=0&limit=50' });
    expect(body.keyword_alerts[0]).toMatchObject({ keyword: 'forward', recording_id: recording.id });
  });

  it('shows its rows to their account only, and to keys with the scope only', async () => {
    const stranger = await service.account();
    expect((await stranger.get('/v1/keyword-alerts').expect(200)).body.total).toBe(0);
    const unscoped = await service.key(stranger, ['account:read']);
    await unscoped.get('/v1/keyword-alerts').expect(403);
  });

  it('leaves nothing of a recording that is deleted', async () => {
    const caller = await service.account();
    const { body: recording } = await caller.upload('go-forward-ten-meters.wav').expect(201);
    await caller.finished(recording.id);
    await caller.delete(`/v1/recordings/${recording.id}`).expect(204);
    expect((await caller.get('/v1/keyword-alerts').expect(200)).body.total).toBe(0);
  });
});
