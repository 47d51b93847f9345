import { measureAttacks } from './hostile/attacks.mjs';
import { measureCompression } from './compression.mjs';
import { measureConsole } from './console.mjs';
import { measureDeliveries } from './deliveries.mjs';
import { measureEvents } from './events.mjs';
import { measureFullQueue } from './hostile/full-queue.mjs';
import { measureGet } from './get.mjs';
import { measureGuessedKeys } from './hostile/guessed-keys.mjs';
import { measureGrowth, measureOneDay } from './growth.mjs';
import { measureHangingWebhooks } from './hostile/hanging-webhooks.mjs';
import { measureLargeDatabase } from './large-database.mjs';
import { measureLatency } from './latency.mjs';
import { measureList } from './list.mjs';
import { measureLongRecording } from './long-recording.mjs';
import { measureSearch } from './search.mjs';
import { measureStart } from './start.mjs';
import { measureTranscription } from './transcription.mjs';
import { measureLargeUploads, measureUpload } from './upload.mjs';

/** In the order in which they are run. */
export const MEASURES = {
  get: measureGet,
  list: measureList,
  compression: measureCompression,
  growth: measureGrowth,
  'one day': measureOneDay,
  'large database': measureLargeDatabase,
  search: measureSearch,
  upload: measureUpload,
  'large uploads': measureLargeUploads,
  transcription: measureTranscription,
  latency: measureLatency,
  'long recording': measureLongRecording,
  deliveries: measureDeliveries,
  events: measureEvents,
  'full queue': measureFullQueue,
  'hanging webhooks': measureHangingWebhooks,
  'guessed keys': measureGuessedKeys,
  attacks: measureAttacks,
  start: measureStart,
  console: measureConsole,
};
