import { measureDeliveries } from './deliveries.mjs';
import { measureGet } from './get.mjs';
import { measureGrowth } from './growth.mjs';
import { measureList } from './list.mjs';
import { measureStart } from './start.mjs';
import { measureLatency, measureLongNote, measureTranscription } from './transcription.mjs';
import { measureLargeUploads, measureUpload } from './upload.mjs';

/** In the order in which they are run. */
export const MEASURES = {
  get: measureGet,
  list: measureList,
  growth: measureGrowth,
  upload: measureUpload,
  'large uploads': measureLargeUploads,
  transcription: measureTranscription,
  latency: measureLatency,
  'long note': measureLongNote,
  deliveries: measureDeliveries,
  start: measureStart,
};
