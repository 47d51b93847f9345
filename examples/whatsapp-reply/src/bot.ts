import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { PendingReplies } from './pending-replies.js';
import { isSigned } from './signatures.js';
import type { TranscriptionClient } from './transcription.client.js';
import { type Notification, type VoiceNote, voiceNotesOf, type WhatsAppClient } from './whatsapp.client.js';

const NO_SPEECH = 'I hear no words in this voice note.';
const FAILED = 'I could not make a text of this voice note.';

export interface BotSettings {
  whatsapp: WhatsAppClient;
  transcriptions: TranscriptionClient;
  replies: PendingReplies;
  secrets: {
    /** The word that WhatsApp repeats when it checks the address of the bot. */
    verifyToken: string;
    /** With which WhatsApp signs notifications. */
    app: string;
    /** With which the transcription service signs events. */
    webhook: string;
  };
}

/** What we use of an event of the transcription service. */
interface TranscriptionEvent {
  event: string;
  recording: { id: string; custom_tags?: { note?: string } };
}

/**
 * Takes voice notes of WhatsApp at `/whatsapp` and events of the transcription service at `/events`. Both repeat a
 * request that was not answered with 200. A note is uploaded, and a reply sent, before that answer, so that neither
 * gets lost.
 */
export class Bot {
  constructor(private readonly settings: BotSettings) {}

  createServer(): Server {
    return createServer((request, response) => {
      this.answer(request, response).catch((error: unknown) => {
        console.error(error);
        response.writeHead(500).end();
      });
    });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { secrets } = this.settings;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bot');
    const route = `${request.method} ${pathname}`;
    if (route === 'GET /whatsapp') return this.verify(searchParams, response);
    if (route === 'POST /whatsapp') {
      const body = await signedBody(request, 'x-hub-signature-256', secrets.app);
      if (body) await this.accept(JSON.parse(body) as Notification);
      response.writeHead(body ? 200 : 401).end();
    } else if (route === 'POST /events') {
      const body = await signedBody(request, 'x-service-signature', secrets.webhook);
      if (body) await this.reply(JSON.parse(body) as TranscriptionEvent);
      response.writeHead(body ? 200 : 401).end();
    } else response.writeHead(404).end();
  }

  /** WhatsApp asks once, when the address of the bot is entered. */
  private verify(query: URLSearchParams, response: ServerResponse): void {
    const isRight = query.get('hub.verify_token') === this.settings.secrets.verifyToken;
    response.writeHead(isRight ? 200 : 403).end(isRight ? query.get('hub.challenge') : '');
  }

  private async accept(notification: Notification): Promise<void> {
    for (const note of voiceNotesOf(notification)) await this.upload(note);
  }

  private async upload({ sender, mediaId }: VoiceNote): Promise<void> {
    const { replies, transcriptions, whatsapp } = this.settings;
    // The same for a repeated notification, and tells nothing about the sender.
    const key = createHash('sha256').update(sender.messageId).digest('hex');
    const isWaiting = replies.get(key) !== undefined;
    await replies.add(key, sender);
    const isNew = await transcriptions.upload(await whatsapp.download(mediaId), key);
    // It was answered already.
    if (!isNew && !isWaiting) await replies.remove(key);
  }

  private async reply({ event, recording }: TranscriptionEvent): Promise<void> {
    const { replies, transcriptions, whatsapp } = this.settings;
    const key = recording.custom_tags?.note ?? '';
    const sender = replies.get(key);
    // Not a note of ours, or an event that comes again.
    if (!sender) return;
    const isTranscribed = event === 'recording.transcribed';
    const text = isTranscribed ? (await transcriptions.textOf(recording.id)) || NO_SPEECH : FAILED;
    await whatsapp.reply(sender, text);
    await replies.remove(key);
  }
}

/** @returns the body, or null when it was not signed with the secret */
async function signedBody(request: IncomingMessage, header: string, secret: string): Promise<string | null> {
  const body = await buffer(request);
  return isSigned(body, request.headers[header], secret) ? body.toString('utf8') : null;
}
