/** Uncompressed audio and the telephone codecs of WAV. */
const PCM = ['u8', 's16le', 's24le', 's32le', 's64le', 'f32le', 'f64le', 'alaw', 'mulaw'].map((name) => `pcm_${name}`);
/** MPEG audio of every layer: a frame header decides which one a file holds. */
const MPEG_AUDIO = ['mp3float', 'mp3', 'mp2float', 'mp2', 'mp1float', 'mp1'];
const ADPCM = ['adpcm_ms', 'adpcm_ima_wav', 'adpcm_yamaha', 'g722', 'g726', 'gsm_ms', 'libgsm_ms'];

/**
 * The audio containers that the service takes (D21). For each the demuxer of ffmpeg, and the names of its decoders for
 * the codecs that the format is used with. No other decoder is opened.
 */
export const AUDIO_FORMATS = {
  // The codecs of WebM, and what Chrome records as `audio/webm;codecs=pcm`.
  webm: { demuxer: 'matroska', decoders: ['opus', 'libopus', 'vorbis', 'libvorbis', ...PCM] },
  mp3: { demuxer: 'mp3', decoders: MPEG_AUDIO },
  ogg: { demuxer: 'ogg', decoders: ['opus', 'libopus', 'vorbis', 'libvorbis', 'speex', 'libspeex', 'flac'] },
  wav: { demuxer: 'wav', decoders: [...PCM, ...ADPCM, ...MPEG_AUDIO] },
} as const;

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

/** For messages: `webm, mp3, ogg or wav`. */
export const AUDIO_FORMAT_LIST = AUDIO_FORMAT_NAMES.join(', ').replace(/, (\w+)$/, ' or $1');

/** 25 MB (D21). */
export const MAX_FILE_BYTES = 26_214_400;

/** What is decoded. A sample rate of 1 Hz would make ffmpeg use 800 MB. */
export const SAMPLE_RATES_HZ = { min: 4_000, max: 192_000 };
export const MAX_CHANNELS = 8;
