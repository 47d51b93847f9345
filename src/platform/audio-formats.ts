import { anyOf } from './http/input/text-rules.js';

/** Uncompressed audio and the telephone codecs of WAV. */
const PCM = ['u8', 's16le', 's24le', 's32le', 's64le', 'f32le', 'f64le', 'alaw', 'mulaw'].map((name) => `pcm_${name}`);
/** What QuickTime also has. */
const BIG_ENDIAN_PCM = ['s16be', 's24be', 's32be', 'f32be', 'f64be', 's8'].map((name) => `pcm_${name}`);
/** MPEG audio of every layer: a frame header decides which one a file holds. */
const MPEG_AUDIO = ['mp3float', 'mp3', 'mp2float', 'mp2', 'mp1float', 'mp1'];
const ADPCM = ['adpcm_ms', 'adpcm_ima_wav', 'adpcm_yamaha', 'g722', 'g726', 'gsm_ms', 'libgsm_ms'];

const AAC = ['aac', 'aac_fixed', 'libfdk_aac'];
const AMR = ['amrnb', 'libopencore_amrnb', 'amrwb', 'libopencore_amrwb'];
/** Telephones send nothing while nobody speaks, and ffmpeg's decoder leaves that out: later words would come too early. */
const FILL_PAUSES = 'aresample=async=1:first_pts=0';
const OPUS = ['opus', 'libopus'];
const VORBIS = ['vorbis', 'libvorbis'];

/** How a container is decoded. */
export interface AudioContainer {
  /** ffmpeg's name of its demuxer. */
  demuxer: string;
  /** ffmpeg's names of its decoders for the codecs that the container is used with. No other decoder is opened. */
  decoders: readonly string[];
  /** Decoders of video that is skipped in this container only. */
  skipped?: readonly string[];
  /** Arguments for the demuxer. */
  options?: readonly string[];
  /** For what is decoded. */
  filter?: string;
}

/** MP4, 3GP and QuickTime: a file of this container is `m4a`, or `amr` if its audio is. */
export const MP4_CONTAINER: AudioContainer = {
  demuxer: 'mov',
  // Telephones and cameras write AAC and AMR, Apple also ALAC and PCM, Chrome also Opus.
  decoders: [...AAC, 'alac', ...AMR, ...OPUS, 'flac', ...MPEG_AUDIO, ...PCM, ...BIG_ENDIAN_PCM],
  skipped: ['h264', 'libopenh264', 'hevc', 'h263', 'mpeg4', 'mov_text'],
  // A track may name another file as the place of its audio; that is never opened. Chapters are another track.
  options: ['-enable_drefs', '0', '-use_absolute_path', '0', '-ignore_chapters', '1'],
};

/**
 * The audio formats that the service takes (D21, D47), and the container of each. AMR has one of its own, and is also in
 * 3GP.
 */
export const AUDIO_FORMATS = {
  // The codecs of WebM, and what Chrome records as `audio/webm;codecs=pcm`.
  webm: { demuxer: 'matroska', decoders: [...OPUS, ...VORBIS, ...PCM] },
  mp3: { demuxer: 'mp3', decoders: MPEG_AUDIO },
  ogg: { demuxer: 'ogg', decoders: [...OPUS, ...VORBIS, 'speex', 'libspeex', 'flac'] },
  wav: { demuxer: 'wav', decoders: [...PCM, ...ADPCM, ...MPEG_AUDIO] },
  m4a: MP4_CONTAINER,
  aac: { demuxer: 'aac', decoders: AAC },
  flac: { demuxer: 'flac', decoders: ['flac'] },
  amr: { demuxer: 'amr', decoders: AMR, filter: FILL_PAUSES },
} as const satisfies Record<string, AudioContainer>;

/** An operator cannot refuse these: clients rely on them. */
export const CONTRACT_FORMATS = ['webm', 'mp3', 'ogg', 'wav'] as const;

/** Bytes at the beginning of a file that `beginsMp4` looks at. */
export const MP4_MAGIC_BYTES = 8;

/** Whether a file, given as Latin-1, begins as MP4, 3GP and QuickTime do: with the size of a box and its type. */
export const beginsMp4 = (head: string): boolean => /^[\s\S]{4}(?:ftyp|moov|mdat|wide)/.test(head);

/**
 * Decoders of what may lie beside the audio: cover images, the video of WebM and Ogg, subtitles. Such a stream is skipped
 * and never decoded. A file with a stream of any other codec is not one of these formats.
 */
export const SKIPPED_DECODERS: ReadonlySet<string> = new Set([
  'mjpeg',
  'png',
  'apng',
  'gif',
  'bmp',
  'webp',
  'tiff',
  'vp8',
  'libvpx',
  'vp9',
  'libvpx-vp9',
  'av1',
  'libdav1d',
  'libaom-av1',
  'theora',
  'webvtt',
]);

export type AudioFormat = keyof typeof AUDIO_FORMATS;

export const AUDIO_FORMAT_NAMES = Object.keys(AUDIO_FORMATS) as AudioFormat[];

export const AUDIO_FORMAT_LIST = anyOf(AUDIO_FORMAT_NAMES);

/** 25 MB (D21). */
export const MAX_FILE_BYTES = 26_214_400;

/** What is decoded. A sample rate of 1 Hz would make ffmpeg use 800 MB. */
export const SAMPLE_RATES_HZ = { min: 4_000, max: 192_000 };
export const MAX_CHANNELS = 8;
