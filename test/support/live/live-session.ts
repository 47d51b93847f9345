import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Principal } from '../../../src/access/principal.js';
import { quotasOf, type Quotas } from '../../../src/access/plans.js';
import { SPEECH } from '../../../src/testing/speech.js';
import type { LiveRecording, LiveRecordingsService } from '../../../src/modules/live/live-recordings.service.js';

/** Of a key with every scope. @param quotas that differ from those of the plan `enterprise` */
export const principalOf = (accountId: string, quotas: Partial<Quotas> = {}): Principal => ({
  accountId,
  suspended: false,
  isTest: false,
  recordsReads: false,
  limit: { rate: 1000, burst: 2000 },
  quotas: quotasOf('enterprise', quotas),
  credential: 'api_key',
  keyId: null,
  keyExpiresAt: null,
  refusedAddress: null,
  tokenId: null,
  sessionId: null,
  personId: null,
  version: 0,
  scopes: [],
  userId: null,
  endUserRights: [],
});

/** What is said in it. */
export const SAID = 'go forward ten meters';
const WAV_HEADER_BYTES = 44;

/** PCM at 16 kHz. */
export const spokenPcm = async (): Promise<Buffer> =>
  (await readFile(path.join(SPEECH, 'go-forward-ten-meters.wav'))).subarray(WAV_HEADER_BYTES);

export const silence = (seconds: number): Buffer => Buffer.alloc(seconds * PCM_RATE * 2);

const PCM_RATE = 16_000;
const PART_BYTES = PCM_RATE * 2 * 0.2;

/** The n-th part of 200 ms of a test: no two are the same. */
export const pcmPart = (n: number): Buffer => {
  const part = Buffer.alloc(PART_BYTES);
  for (let i = 0; i < PART_BYTES; i += 2) part.writeInt16LE(((n * 7919 + i * 31) % 2001) - 1000, i);
  return part;
};

export const BEGUN = {
  audio: { format: 'pcm16', sampleRate: PCM_RATE },
  language: 'english',
  clientIp: '192.0.2.1',
  userAgent: 'test',
} as const;

/** Appends parts one behind the other. @returns all of the audio */
export async function appendParts(
  service: LiveRecordingsService,
  { recordingId }: Pick<LiveRecording, 'recordingId'>,
  count: number,
): Promise<Buffer> {
  const parts = Array.from({ length: count }, (_, n) => pcmPart(n));
  let stored = 0;
  for (const part of parts) stored = await service.append(recordingId, stored, part);
  return Buffer.concat(parts);
}
