import { measureConsole } from './console.mjs';
import { measureDeliveries } from './deliveries.mjs';
import { measureGrowth, measureOneDay } from './growth.mjs';
import { measureAttacks } from './hostile/attacks.mjs';
import { measureFullQueue } from './hostile/full-queue.mjs';
import { measureGuessedKeys } from './hostile/guessed-keys.mjs';
import { measureHangingWebhooks } from './hostile/hanging-webhooks.mjs';
import { measureLargeDatabase } from './large-database.mjs';
import { measureProcesses } from './processes.mjs';
import { measureCompression, measureGet, measureList } from './reads.mjs';
import { measureSearch } from './search.mjs';
import { measureSizes } from './sizes.mjs';
import { measureLatency, measureLongRecording, measureStart, measureTranscription } from './transcription.mjs';
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
  'full queue': measureFullQueue,
  'hanging webhooks': measureHangingWebhooks,
  'guessed keys': measureGuessedKeys,
  attacks: measureAttacks,
  processes: measureProcesses,
  sizes: measureSizes,
  start: measureStart,
  console: measureConsole,
};
