import type { Sender } from './pending-replies.js';

const TIMEOUT_MS = 30_000;
/** Characters that WhatsApp accepts in one text. */
const MAX_TEXT = 4096;

/** What we use of a notification of WhatsApp's Cloud API. */
export interface Notification {
  entry?: { changes?: { value?: { metadata?: { phone_number_id: string }; messages?: Message[] } }[] }[];
}

interface Message {
  id: string;
  from: string;
  type: string;
  audio?: { id: string };
}

export interface VoiceNote {
  sender: Sender;
  mediaId: string;
}

/** Voice notes of a notification. Other messages, and reports about our own, are left out. */
export function voiceNotesOf({ entry = [] }: Notification): VoiceNote[] {
  const values = entry.flatMap(({ changes = [] }) => changes.map(({ value }) => value));
  return values.flatMap((value) =>
    (value?.messages ?? []).flatMap(({ id, from, type, audio }) =>
      type === 'audio' && audio && value?.metadata
        ? [{ mediaId: audio.id, sender: { phoneNumberId: value.metadata.phone_number_id, from, messageId: id } }]
        : [],
    ),
  );
}

/** WhatsApp's Cloud API. */
export class WhatsAppClient {
  /** @param url such as https://graph.facebook.com/v23.0 */
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /** The audio of a voice note: WhatsApp gives its address first, which is valid for five minutes. */
  async download(mediaId: string): Promise<Blob> {
    const { url } = (await (await this.request(`${this.url}/${mediaId}`)).json()) as { url: string };
    return await (await this.request(url)).blob();
  }

  /** Answers a message, in several texts if need be. */
  async reply({ phoneNumberId, from, messageId }: Sender, text: string): Promise<void> {
    for (const body of partsOf(text)) {
      await this.request(`${this.url}/${phoneNumberId}/messages`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          messaging_product: 'whatsapp',
          to: from,
          context: { message_id: messageId },
          type: 'text',
          text: { body },
        }),
      });
    }
  }

  private async request(url: string, options: RequestInit = {}): Promise<Response> {
    const headers = { ...options.headers, Authorization: `Bearer ${this.token}` };
    const response = await fetch(url, { ...options, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) throw new Error(`WhatsApp answered ${response.status}: ${await response.text()}`);
    return response;
  }
}

/** Cut at the last space before the limit, where there is one. */
function partsOf(text: string): string[] {
  if (text.length <= MAX_TEXT) return [text];
  const space = text.lastIndexOf(' ', MAX_TEXT);
  const end = space > 0 ? space : MAX_TEXT;
  return [text.slice(0, end), ...partsOf(text.slice(end).trimStart())];
}
