import {
  type ApiClient,
  eventually,
  signatureProblems,
  useService,
  WebhookReceiver,
} from 'voice-note-transcription-service/testing';
import { keywordAlerts } from '../src/extension.js';

const PATH = '/v1/keyword-alerts';
const SECRET = 'a secret of at least 16 characters';

describe('keyword alerts', () => {
  const service = useService({}, { extensions: [keywordAlerts] });
  let client: ApiClient;
  let id: string;

  beforeAll(async () => {
    client = await service.account();
    id = await transcribe();
  });

  /** Uploads "go forward ten meters" and waits for its transcript. @returns the id of the recording */
  async function transcribe(): Promise<string> {
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    return body.id;
  }

  it('lists the keywords that were said, in pages', async () => {
    const { body } = await client.get(`${PATH}?keyword=forward`).expect(200);
    expect(body).toMatchObject({ total: 1, uri: `${PATH}?page=0&limit=50&keyword=forward` });
    expect(body.keyword_alerts).toMatchObject([{ keyword: 'forward', recording_id: id }]);
    expect((await client.get(`${PATH}?keyword=invoice`).expect(200)).body.total).toBe(0);
  });

  it('refuses an unknown keyword', async () => {
    const { body } = await client.get(`${PATH}?keyword=banana`).expect(400);
    expect(body.error.message).toBe('keyword must be forward, invoice or urgent.');
  });

  it('sends keyword.matched, signed, to webhooks that subscribe to it', async () => {
    const receiver = await WebhookReceiver.listen();
    try {
      const webhook = { url: receiver.url(), events: ['keyword.matched'], secret: SECRET };
      await client.post('/v1/webhooks', webhook).expect(201);
      const spoken = await transcribe();
      const [request] = await receiver.waitFor((requests) => requests.length === 1);
      expect(JSON.parse(String(request?.body))).toMatchObject({
        event: 'keyword.matched',
        recording: { id: spoken },
        keywords: [{ keyword: 'forward' }],
      });
      expect(request && signatureProblems(request, SECRET)).toEqual([]);
    } finally {
      await receiver.close();
    }
  });

  it('needs the scope keywords:read', async () => {
    const { body } = await (await service.key(client, ['recordings:read'])).get(PATH).expect(403);
    expect(body.error.details).toEqual({ required_scope: 'keywords:read' });
    await (await service.key(client, ['keywords:read'])).get(PATH).expect(200);
  });

  it('shows an account its own alerts only', async () => {
    expect((await client.get(PATH).expect(200)).body.total).toBeGreaterThan(0);
    const stranger = await service.account();
    expect((await stranger.get(PATH).expect(200)).body.total).toBe(0);
  });

  it('deletes the alerts of a recording with it', async () => {
    const alertsOf = async () => {
      const { body } = await client.get(PATH).expect(200);
      return body.keyword_alerts.filter(({ recording_id }: { recording_id: string }) => recording_id === id);
    };
    expect(await alertsOf()).not.toEqual([]);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    await eventually(async () => (await alertsOf()).length === 0);
  });
});
