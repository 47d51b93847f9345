import type { AudioFormat } from '../../../platform/audio/audio-formats.js';
import { InvalidRequestError } from '../../../platform/errors/errors.js';
import type { SpoolFile } from '../../../platform/storage/spool.js';
import { detectFormat } from '../audio/formats/audio-format.js';
import { FileWindow } from '../audio/formats/file-window.js';
import { unsupportedFormat } from '../audio/formats/other-formats.js';
import { type AudioFacts, probeAudio } from '../audio/probes/audio-probe.js';

/** What an uploaded file is, by its content alone. @throws InvalidRequestError unless its format is accepted */
export async function inspectAudio(
  file: SpoolFile,
  accepted: readonly AudioFormat[],
): Promise<{ format: AudioFormat; facts: AudioFacts }> {
  if (file.sizeBytes === 0) throw new InvalidRequestError({ field: 'file', reason: 'must not be empty' });
  const window = new FileWindow(file.handle, file.sizeBytes);
  const format = await detectFormat(window);
  if (!format || !accepted.includes(format)) {
    const reason = await unsupportedFormat(window, accepted, format);
    throw new InvalidRequestError({ field: 'file', reason });
  }
  return { format, facts: await probeAudio(window, format) };
}
