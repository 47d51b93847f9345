import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { SPEECH } from '../../../src/testing/speech.js';

/**
 * A recording as ffmpeg writes it.
 * @param source name of a recording in {@link SPEECH}
 * @param extension by which ffmpeg chooses the container
 * @param options of the output, and further inputs
 */
export async function encoded(source: string, extension: string, ...options: string[]): Promise<Buffer> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'encoded-'));
  try {
    const file = path.join(folder, `note.${extension}`);
    const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-i', path.join(SPEECH, source), ...options, file]);
    if (status !== 0) throw new Error(stderr.toString());
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The files that telephones, browsers and recorders make of one sentence: 2.79 s of `go forward ten meters`. */
export const NOTES: Record<string, { format: string; codec: string; sampleRate: number; make: () => Promise<Buffer> }> =
  {
    'an m4a as iPhones record it': note('m4a', 'aac', 44_100, 'm4a', '-c:a', 'aac', '-ar', '44100'),
    'an m4a with its index first': note('m4a', 'aac', 16_000, 'm4a', '-c:a', 'aac', '-movflags', '+faststart'),
    'a fragmented mp4 as iPhones record it in a browser': note(
      'm4a',
      'aac',
      48_000,
      'mp4',
      ...['-c:a', 'aac', '-ar', '48000', '-frag_duration', '500000'],
      ...['-movflags', 'empty_moov+default_base_moof+frag_keyframe'],
    ),
    'an m4a with ALAC': note('m4a', 'alac', 16_000, 'm4a', '-c:a', 'alac'),
    'a mov with AAC': note('m4a', 'aac', 16_000, 'mov', '-c:a', 'aac'),
    'a mov with PCM': note('m4a', 'pcm_s16le', 16_000, 'mov', '-c:a', 'pcm_s16le'),
    'an mp4 with Opus as Chrome records it': note('m4a', 'opus', 48_000, 'mp4', '-c:a', 'libopus', '-strict', '-2'),
    'a 3gp with AAC': note('m4a', 'aac', 16_000, '3gp', '-c:a', 'aac'),
    'AAC in ADTS': note('aac', 'aac', 16_000, 'aac', '-c:a', 'aac'),
    'AAC in ADTS behind an ID3 tag': note('aac', 'aac', 16_000, 'aac', '-c:a', 'aac', '-write_id3v2', '1'),
    'native FLAC': note('flac', 'flac', 16_000, 'flac', '-c:a', 'flac'),
    'AMR of 8 kHz': fixture('go-forward-ten-meters.nb.amr', 'amr_nb', 8000),
    'AMR of 16 kHz': fixture('go-forward-ten-meters.wb.amr', 'amr_wb', 16_000),
    'a 3gp with AMR of 8 kHz': inMobile('go-forward-ten-meters.nb.amr', 'amr_nb', 8000),
    'a 3gp with AMR of 16 kHz': inMobile('go-forward-ten-meters.wb.amr', 'amr_wb', 16_000),
  };

function note(format: string, codec: string, sampleRate: number, extension: string, ...options: string[]) {
  return { format, codec, sampleRate, make: once(() => encoded('go-forward-ten-meters.wav', extension, ...options)) };
}

/** Debian's ffmpeg decodes AMR and does not encode it. */
function fixture(name: string, codec: string, sampleRate: number) {
  return { format: 'amr', codec, sampleRate, make: () => readFile(path.join(SPEECH, name)) };
}

function inMobile(name: string, codec: string, sampleRate: number) {
  return { format: 'amr', codec, sampleRate, make: once(() => encoded(name, '3gp', '-c', 'copy')) };
}

function once(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | undefined;
  return () => (made ??= make());
}
