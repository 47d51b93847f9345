import { Bot } from './bot.js';
import { PendingReplies } from './pending-replies.js';
import { TranscriptionClient } from './transcription.client.js';
import { WhatsAppClient } from './whatsapp.client.js';

const bot = new Bot({
  whatsapp: new WhatsAppClient(
    process.env.WHATSAPP_URL ?? 'https://graph.facebook.com/v23.0',
    required('WHATSAPP_TOKEN'),
  ),
  transcriptions: new TranscriptionClient(required('TRANSCRIPTION_URL'), {
    key: required('TRANSCRIPTION_KEY'),
    secret: required('TRANSCRIPTION_SECRET'),
  }),
  replies: await PendingReplies.open(process.env.REPLIES_FILE ?? 'pending-replies.json'),
  secrets: {
    verifyToken: required('WHATSAPP_VERIFY_TOKEN'),
    app: required('WHATSAPP_APP_SECRET'),
    webhook: required('WEBHOOK_SECRET'),
  },
});
const port = Number(process.env.PORT ?? 8080);
bot.createServer().listen(port, () => console.log(`listening on port ${port}`));

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}
