import { ApiError, type Recording, type UploadOptions, type VoiceNotes } from '../../index.js';
import type { AudioInput, LoadedAudio } from './audio-input.js';
import type { UploadIdentity, UploadRecord, UploadRecords } from './upload-records.js';

/** The service forgets keys after 24 hours (D20). */
const KEY_LIFE_MS = 23 * 3_600_000;
/** Clocks of this machine and the service may differ. */
const CLOCK_DIFFERENCE_MS = 3_600_000;
const DAY_MS = 86_400_000;

interface Upload {
  client: VoiceNotes;
  records: UploadRecords;
  identity: UploadIdentity;
  input: AudioInput;
  audio: LoadedAudio;
  options: UploadOptions;
  again: boolean;
  /** Told when something is really sent. */
  onBegin: () => void;
}

export interface Sent {
  recording: Recording;
  /** Whether an earlier run had uploaded it. */
  known: boolean;
}

/** Uploads what no earlier run has uploaded. */
export async function sendUpload(upload: Upload): Promise<Sent> {
  const { records, identity, again } = upload;
  let record = await records.open(identity);
  if (record.recording_id !== null && !again) {
    const recording = await existing(upload, record.recording_id);
    if (recording) return { recording, known: true };
  }
  // What was begun and not finished is gone on with, also with --again.
  if (record.recording_id !== null) record = records.renewed(identity);
  const lost = await findLost(upload, record);
  return lost ? await finish(upload, record, lost, true) : await send(upload, record);
}

async function send(upload: Upload, record: UploadRecord, mayRenew = true): Promise<Sent> {
  const { client, records, identity, audio, options, input } = upload;
  await records.save(identity, record);
  upload.onBegin();
  try {
    const recording = await client.recordings.upload(new Blob([audio.content]), {
      ...options,
      filename: input.filename,
      idempotencyKey: record.idempotency_key,
    });
    return await finish(upload, record, recording, false);
  } catch (error) {
    // The recording of this key was deleted: the file becomes a new one.
    if (!mayRenew || !(error instanceof ApiError) || error.type !== 'ConflictError') throw error;
    return await send(upload, records.renewed(identity), false);
  }
}

async function finish(upload: Upload, record: UploadRecord, recording: Recording, known: boolean): Promise<Sent> {
  await upload.records.save(upload.identity, { ...record, recording_id: recording.id });
  return { recording, known };
}

async function existing({ client }: Upload, id: string): Promise<Recording | null> {
  try {
    return await client.recordings.get(id);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The recording of a run that was interrupted so long ago that its key says nothing any more. */
async function findLost({ client, input, audio }: Upload, record: UploadRecord): Promise<Recording | null> {
  const startedAt = Date.parse(record.started_at);
  if (Date.now() - startedAt < KEY_LIFE_MS) return null;
  const from = startedAt - CLOCK_DIFFERENCE_MS;
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  // No run lasts for days.
  const query = { date_from: day(from), date_to: day(startedAt + DAY_MS), limit: 100 };
  for await (const recording of client.recordings.list(query)) {
    const same = recording.original_filename === input.filename && recording.file_size_bytes === audio.content.length;
    if (same && Date.parse(`${recording.created_at}Z`) >= from) return recording;
  }
  return null;
}
