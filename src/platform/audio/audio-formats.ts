/** The audio containers that the service takes (D21), and the demuxer of ffmpeg for each. */
export const AUDIO_FORMATS = {
  webm: { demuxer: 'matroska' },
  mp3: { demuxer: 'mp3' },
  ogg: { demuxer: 'ogg' },
  wav: { demuxer: 'wav' },
} as const;

export type AudioFormat = keyof typeof AUDIO_FORMATS;

export const AUDIO_FORMAT_NAMES = Object.keys(AUDIO_FORMATS) as AudioFormat[];

/** For messages: `webm, mp3, ogg or wav`. */
export const AUDIO_FORMAT_LIST = AUDIO_FORMAT_NAMES.join(', ').replace(/, (\w+)$/, ' or $1');

/** 25 MB (D21). */
export const MAX_FILE_BYTES = 26_214_400;

/** What is decoded. A sample rate of 1 Hz would make ffmpeg use 800 MB. */
export const SAMPLE_RATES_HZ = { min: 4_000, max: 192_000 };
export const MAX_CHANNELS = 8;
