import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, eventually, speech, useService } from 'voice-note-transcription-service/testing';
import { Bot } from '../src/bot.js';
import { PendingReplies } from '../src/pending-replies.js';
import { TranscriptionClient } from '../src/transcription.client.js';
import { WhatsAppClient } from '../src/whatsapp.client.js';
import { FakeWhatsApp } from './fake-whatsapp.js';

const TOKEN = 'a token of WhatsApp';
const SECRETS = { verifyToken: 'a word', app: 'an app secret', webhook: 'a secret of at least 16 characters' };
const NOTE = { id: 'wamid.A1', from: '15552223333', type: 'audio', audio: { id: '77', voice: true } };

/** A second of nothing, 8000 samples of 16 bits. */
function silence(): Buffer {
  const head = Buffer.from('524946460000000057415645666d74201000000001000100401f0000803e00000200100064617461', 'hex');
  const bytes = Buffer.concat([head, Buffer.alloc(4 + 16_000)]);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.writeUInt32LE(16_000, 40);
  return bytes;
}

describe('a bot that answers voice notes', () => {
  const service = useService({ WEBHOOK_RETRY_SCHEDULE: '1,1,1' });
  let folder: string;
  let whatsapp: FakeWhatsApp;
  let client: ApiClient;
  let server: Server;
  let bot: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'whatsapp-reply-'));
    whatsapp = await FakeWhatsApp.start(TOKEN, SECRETS.app);
    client = await service.account();
    server = new Bot({
      whatsapp: new WhatsAppClient(whatsapp.url, TOKEN),
      transcriptions: new TranscriptionClient(service.url, client.credentials),
      replies: await PendingReplies.open(join(folder, 'replies.json')),
      secrets: SECRETS,
    }).createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    bot = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const events = ['recording.transcribed', 'recording.failed'];
    await client.post('/v1/webhooks', { url: `${bot}/events`, events, secret: SECRETS.webhook }).expect(201);
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await whatsapp.stop();
    await rm(folder, { recursive: true });
  });

  const nobodyWaits = () => eventually(async () => (await readFile(join(folder, 'replies.json'), 'utf8')) === '{}');
  const answers = (count: number) => eventually(() => whatsapp.sent.length >= count && whatsapp.sent, 60_000);

  it('answers WhatsApp when it checks the address', async () => {
    const ask = (word: string) =>
      fetch(`${bot}/whatsapp?hub.mode=subscribe&hub.verify_token=${word}&hub.challenge=4711`);
    expect(await (await ask('a%20word')).text()).toBe('4711');
    expect((await ask('another')).status).toBe(403);
  });

  it('answers a note with its text, once, and tells the service no telephone number', async () => {
    whatsapp.media.set('77', await speech('go-forward-ten-meters.ogg'));
    // WhatsApp repeats what it has not seen answered.
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);

    const [message] = await answers(1);
    expect(message).toMatchObject({ to: NOTE.from, context: { message_id: NOTE.id }, type: 'text' });
    expect(message?.text.body).toMatch(/go forward/);
    const { body: list } = await client.get('/v1/recordings').expect(200);
    expect(list.total).toBe(1);
    expect(JSON.stringify(list)).not.toContain(NOTE.from);
    await nobodyWaits();
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);
    await nobodyWaits();
    expect(whatsapp.sent).toHaveLength(1);
  });

  it('tells when there are no words', async () => {
    whatsapp.media.set('77', silence());
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);
    const [message] = await answers(1);
    expect(message?.text.body).toBe('I hear no words in this voice note.');
  });

  it('tells when a note could not be transcribed', async () => {
    whatsapp.media.set('77', silence());
    // Its own event comes after this one, and finds nobody waiting.
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);
    const note = createHash('sha256').update(NOTE.id).digest('hex');
    const body = JSON.stringify({ event: 'recording.failed', recording: { id: '1', custom_tags: { note } } });
    const signature = `sha256=${createHmac('sha256', SECRETS.webhook).update(body).digest('hex')}`;
    await fetch(`${bot}/events`, { method: 'POST', headers: { 'X-Service-Signature': signature }, body });
    const [message] = await answers(1);
    expect(message?.text.body).toBe('I could not make a text of this voice note.');
  });

  it('sends the answer again that WhatsApp did not take', async () => {
    whatsapp.media.set('77', silence());
    whatsapp.failures = 1;
    const log = jest.spyOn(console, 'error').mockImplementation();
    expect(await whatsapp.notify(bot, NOTE)).toBe(200);
    expect(await answers(1)).toHaveLength(1);
    expect(log).toHaveBeenCalledTimes(1);
    log.mockRestore();
  });

  it('leaves it to the sender to repeat what is not signed, and ignores other messages', async () => {
    expect(await whatsapp.notify(bot, NOTE, 'a wrong secret')).toBe(401);
    expect((await fetch(`${bot}/events`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect(await whatsapp.notify(bot, { id: 'wamid.B', from: '1', type: 'text', text: { body: 'hello' } })).toBe(200);
    expect((await client.get('/v1/recordings').expect(200)).body.total).toBe(0);
  });
});
