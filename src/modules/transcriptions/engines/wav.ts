import { BYTES_PER_SAMPLE, BYTES_PER_SECOND, SAMPLES_PER_SECOND } from '../audio/pcm.js';

const HEADER_BYTES = 44;
const FORMAT_CHUNK_BYTES = 16;
const FORMAT_PCM = 1;
const CHANNELS = 1;

/** The RIFF header of a WAV file with this many bytes of PCM. */
export function wavHeader(pcmBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'ascii');
  header.writeUInt32LE(HEADER_BYTES - 8 + pcmBytes, 4);
  header.write('WAVEfmt ', 8, 'ascii');
  header.writeUInt32LE(FORMAT_CHUNK_BYTES, 16);
  header.writeUInt16LE(FORMAT_PCM, 20);
  header.writeUInt16LE(CHANNELS, 22);
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(BYTES_PER_SECOND, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('data', 36, 'ascii');
  header.writeUInt32LE(pcmBytes, 40);
  return header;
}
