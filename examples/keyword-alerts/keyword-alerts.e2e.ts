import { useService } from '../../src/testing/test-service.js';
import { keywordAlerts } from './keyword-alerts.module.js';

describe('an added module', () => {
  const service = useService({}, { extensions: [keywordAlerts] });

  it('hears of a transcription, keeps rows of its own, and answers for them under /v1', async () => {
    const client = await service.account();
    const { body: recording } = await client.upload('go-forward-ten-meters.wav').expect(201);
    await client.finished(recording.id);

    const { body } = await client.get('/v1/keyword-alerts').expect(200);
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
    const client = await service.account();
    const { body: recording } = await client.upload('go-forward-ten-meters.wav').expect(201);
    await client.finished(recording.id);
    await client.delete(`/v1/recordings/${recording.id}`).expect(204);
    expect((await client.get('/v1/keyword-alerts').expect(200)).body.total).toBe(0);
  });
});
