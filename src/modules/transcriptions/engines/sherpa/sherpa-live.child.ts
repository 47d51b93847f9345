import sherpa, { type OnlineStream } from 'sherpa-onnx-node';
import addon from 'sherpa-onnx-node/addon.js';
import { SAMPLES_PER_SECOND } from '../../audio/pcm.js';
import type { LivePart } from '../children/child-messages.js';
import { LIVE_NICENESS, serveChunks } from '../children/child-side.js';
import type { ChunkTranscript } from '../transcription-engine.js';
import type { SherpaSettings } from './sherpa-settings.js';
import { noise, samplesOf, transcriptOf } from './sherpa-transcript.js';
import { readResult } from './sherpa-words.js';

/** Frames of a window overlap its end by less. */
const MARGIN_SECONDS = 0.1;

/** A streaming model, for one speaker. */
class SherpaLiveRecogniser {
  private readonly recogniser;
  /** Silence that lets the last of the audio fill a window. */
  private readonly tail: Float32Array;
  private stream: OnlineStream | null = null;
  /** Of the utterance so far. */
  private samples = 0;

  constructor(private readonly settings: SherpaSettings) {
    this.recogniser = new sherpa.OnlineRecognizer(settings.config);
    const seconds = (settings.streaming?.windowSeconds ?? 0) + MARGIN_SECONDS;
    this.tail = new Float32Array(Math.round(seconds * SAMPLES_PER_SECOND));
    this.transcribePart(noise(1), { isNew: true, ends: true });
  }

  /** The next part of an utterance. @returns the words of it so far that are complete; when it ends, all of them. */
  transcribePart(bytes: Uint8Array, { isNew, ends }: LivePart): ChunkTranscript {
    if (isNew) this.stream = null;
    const stream = (this.stream ??= this.begin());
    const samples = samplesOf(bytes);
    this.samples += samples.length;
    this.accept(stream, samples);
    if (ends) {
      this.accept(stream, this.tail);
      stream.inputFinished();
      this.stream = null;
    }
    while (this.recogniser.isReady(stream)) this.recogniser.decode(stream);
    const transcript = this.transcript(stream);
    // The next token may continue the last word.
    return ends ? transcript : { ...transcript, words: transcript.words.slice(0, -1) };
  }

  private begin(): OnlineStream {
    this.samples = 0;
    return this.recogniser.createStream();
  }

  private accept(stream: OnlineStream, samples: Float32Array): void {
    if (samples.length > 0) stream.acceptWaveform({ samples, sampleRate: SAMPLES_PER_SECOND });
  }

  private transcript(stream: OnlineStream): ChunkTranscript {
    const result = readResult(addon.getOnlineStreamResultAsJson(this.recogniser.handle, stream.handle));
    const factor = this.settings.streaming?.timeFactor ?? 1;
    const timestamps = result.timestamps.map((seconds) => factor * seconds);
    const length = this.samples / SAMPLES_PER_SECOND;
    return transcriptOf({ ...result, timestamps }, { length, speech: [{ start: 0, end: length }] }, this.settings);
  }
}

await serveChunks(() => {
  const recogniser = new SherpaLiveRecogniser(JSON.parse(process.argv[2] ?? '{}') as SherpaSettings);
  return {
    transcribe: (pcm, { live = { isNew: true, ends: true } }) => recogniser.transcribePart(pcm, live),
  };
}, LIVE_NICENESS);
