import { MAX_CHANNELS } from '../../../platform/audio-formats.js';
import {
  exceedsMonth,
  givenUp,
  type Lease,
  type Outcome,
  type Script,
  scriptOf,
} from '../../recordings/leases/recording-leases.service.js';
import { tooLong } from '../engines/engine-failures.js';
import { channelFeature } from './join-transcripts.js';

/** As `provider` and `model` of what no engine has transcribed. */
const SCRIPTED = { provider: 'test', model: 'test' };

const TEXT = 'This is the text of a test recording.';
const CONFIDENCE = 0.9;
/** Points of the waveform, and how loud each is. */
const PEAKS = { count: 100, byte: 64 };

/** What a client reads of each way in which a real transcription fails. */
const FAILURES: Partial<Record<Script['outcome'], (lease: Lease) => string>> = {
  'failed-no-audio': () => 'The file contains no audio that can be decoded.',
  'failed-language': ({ language }) => `Language not supported: ${language ?? 'german'}. Supported: english.`,
  'failed-too-long': () => tooLong(3600),
  'failed-audio-lost': () => 'The audio is no longer in storage.',
  'failed-crashed': () => 'The engine crashed 5 times on this recording.',
  'failed-given-up': givenUp,
  'failed-decoding-time': () => 'The file takes too long to decode.',
  'failed-codec': ({ audioFormat }) => `The file contains ac3, which is not a codec of ${audioFormat} files.`,
  'failed-sample-rate': () => 'The sample rate of 2000 Hz is outside 4–192 kHz.',
  'failed-channels': () => `The file has 12 channels; 1 to ${MAX_CHANNELS} can be decoded.`,
  'failed-too-large': () => 'The transcription server refused the audio as too large.',
  'failed-rejected': () => 'The transcription server refused the audio',
  'failed-quota': ({ durationMs }) => exceedsMonth(durationMs + 60_000),
};

/** Seconds that the recording of a test account still waits for its end. */
export function scriptedDelay(lease: Lease): number {
  const { delaySeconds } = scriptOf(lease);
  return Math.max(0, delaySeconds - (Date.now() - lease.createdAt.getTime()) / 1000);
}

/** How the transcription of a test account's recording ends: no engine is asked (D81). */
export function scriptedOutcome(lease: Lease): Outcome {
  const { outcome } = scriptOf(lease);
  const failure = FAILURES[outcome];
  // What a retry may help against, it helps against.
  if (failure && !(outcome === 'failed-given-up' && lease.run > 1)) return { status: 'failed', reason: failure(lease) };
  const isSpeech = outcome !== 'no-speech';
  const language = lease.language ?? lease.languages?.[0] ?? 'english';
  const seconds = lease.durationMs / 1000;
  return {
    status: 'transcribed',
    transcript: {
      text: isSpeech ? TEXT : '',
      confidence: isSpeech ? CONFIDENCE : 0,
      language,
      ...SCRIPTED,
      processingDurationMs: 1,
      words: isSpeech ? wordsWithin(seconds, lease) : [],
    },
    features: {
      speech_seconds: isSpeech ? seconds : 0,
      no_speech: !isSpeech,
      ...channelFeature(lease),
      ...(lease.languages && { languages: isSpeech ? [{ language, confidence: CONFIDENCE, seconds }] : [] }),
    },
    durationMs: lease.durationMs,
    peaks: Buffer.alloc(PEAKS.count, isSpeech ? PEAKS.byte : 0),
  };
}

function wordsWithin(seconds: number, lease: Lease) {
  const words = TEXT.replace('.', '').split(' ');
  const isStereo = channelFeature(lease).channels === 2;
  const time = (position: number): number => Math.round((seconds * 1000 * position) / words.length) / 1000;
  return words.map((word, i) => ({
    word,
    start: time(i),
    end: time(i + 1),
    confidence: CONFIDENCE,
    ...(isStereo && { channel: 0 }),
  }));
}
