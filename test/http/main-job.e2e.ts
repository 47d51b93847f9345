import { useService } from '../../src/testing/test-service.js';
import { type ReceivedRequest, signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';

describe('a voice note goes in, its text comes out, and a signed event arrives', () => {
  let receiver: WebhookReceiver;

  const service = useService();

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
  });

  afterAll(async () => {
    await receiver.close();
  });

  it.each([
    'go-forward-ten-meters.wav',
    'go-forward-ten-meters.webm',
    'go-forward-ten-meters.ogg',
    'go-forward-ten-meters.mp3',
  ])('transcribes %s and says so to the webhook', async (name) => {
    const client = await service.account();
    const secret = 'a secret that signs deliveries';
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'], secret }).expect(201);

    const { body: recording } = await client.upload(name, { custom_tags: '{"b":"1","1":"b"}' }).expect(201);
    await client.finished(recording.id);

    const { body: transcription } = await client.get(`/v1/recordings/${recording.id}/transcription`).expect(200);
    expect(transcription.text).toBe('go forward ten meters');
    const isOurs = (seen: ReceivedRequest) => seen.body.toString().includes(recording.id);
    const delivery = (await receiver.waitFor((seen) => seen.some(isOurs))).find(isOurs) as ReceivedRequest;
    expect(signatureProblems(delivery, secret)).toEqual([]);
  });
});
