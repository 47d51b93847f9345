import type { Tx } from '../../../platform/database/database.service.js';
import type { EventBus } from '../../../platform/database/event-bus.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { claimReservedObject } from '../../../platform/storage/object-removals.service.js';
import type { AudioColumns } from '../audio/inspect-audio.js';
import { Recording } from '../recording.entity.js';
import { RecordingFetched } from '../recordings.events.js';
import { countFetchedAudio } from '../usage-counters/usage-counters.queries.js';

/** What a recording has once its file is stored. */
export type StoredFile = AudioColumns & Pick<Recording, 'objectKey' | 'originalFilename'>;

/** SQL, because it returns the row as Postgres wrote it. */
const ATTACH = `UPDATE recordings r SET object_key = $2, original_filename = $3, audio_format = $4, file_size_bytes = $5,
    duration_ms = $6, sample_rate = $7, channels = $8, bit_rate = $9, audio_codec = $10, lease_until = NULL,
    updated_at = now()
  WHERE id = $1 RETURNING ${selectList(Recording, 'r')}`;

/**
 * Gives a recording, which `tx` has locked, its file, which is stored under a reserved key; counts it, and has it
 * transcribed. @throws Error when the reservation has expired
 */
export async function attachFile(tx: Tx, bus: EventBus, id: string, file: StoredFile): Promise<void> {
  const claimed = await tx.query(claimReservedObject('$1'), [file.objectKey]);
  if (claimed.length === 0) throw new Error(`the reservation of ${file.objectKey} expired`);
  const [recording] = await tx.query<Recording>(ATTACH, [
    id,
    file.objectKey,
    file.originalFilename,
    file.audioFormat,
    file.fileSizeBytes,
    file.durationMs,
    file.sampleRate,
    file.channels,
    file.bitRate,
    file.audioCodec,
  ]);
  if (!recording) throw new Error(`recording ${id} is locked but not found`);
  await countFetchedAudio(tx, recording);
  await bus.emit(new RecordingFetched(recording), tx);
}
