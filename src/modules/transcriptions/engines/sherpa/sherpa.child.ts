import sherpa, { type OfflineRecognizer, type OfflineRecognizerConfig, type OfflineStream } from 'sherpa-onnx-node';
import addon from 'sherpa-onnx-node/addon.js';
import { languageCode, whisperCode } from '../../../../platform/languages.js';
import { readTokens } from '../../../models/model-folder.js';
import { SAMPLES_PER_SECOND } from '../../audio/pcm.js';
import type { ChunkOptions } from '../children/child-messages.js';
import { type Recogniser, serveChunks } from '../children/child-side.js';
import type { ChunkTranscript } from '../transcription-engine.js';
import { hotWordsText, type SherpaSettings } from './sherpa-settings.js';
import { noise, samplesOf, transcriptOf } from './sherpa-transcript.js';
import { readResult, type SherpaResult, speechBounds } from './sherpa-words.js';
import { WhisperTokens } from './whisper-tokens.js';

/** Too short for a word. */
const MIN_SECONDS = 0.1;
/** Models fail on audio that is shorter than the first layers need; silence is added up to this. */
const PADDED_SECONDS = 1;

/** One recogniser of sherpa-onnx. A fault in the model or the library ends the process, so it must be one of its own. */
class SherpaRecogniser implements Recogniser {
  private readonly symbols: readonly string[];
  private readonly whisperTokens: WhisperTokens | null;

  private constructor(
    private readonly recogniser: OfflineRecognizer,
    private readonly settings: SherpaSettings,
  ) {
    this.symbols = readTokens(settings.tokens);
    this.whisperTokens = settings.kind === 'whisper' ? new WhisperTokens(settings.tokens) : null;
  }

  static async create(settings: SherpaSettings): Promise<SherpaRecogniser> {
    const recogniser = new SherpaRecogniser(await sherpa.OfflineRecognizer.createAsync(settings.config), settings);
    await recogniser.transcribe(noise(settings.maxSeconds), {});
    return recogniser;
  }

  async transcribe(bytes: Uint8Array, options: ChunkOptions): Promise<ChunkTranscript> {
    const samples = samplesOf(bytes);
    if (samples.length < MIN_SECONDS * SAMPLES_PER_SECOND) return this.transcript(NOTHING, samples, options);
    const stream = this.streamFor(options);
    stream.acceptWaveform({ samples: padded(samples), sampleRate: SAMPLES_PER_SECOND });
    const json = await addon.decodeOfflineStreamAsync(this.recogniser.handle, stream.handle);
    const result = readResult(json);
    return this.transcript(this.whisperTokens?.decode(result) ?? result, samples, options);
  }

  private streamFor({ language = null, vocabulary = [] }: ChunkOptions): OfflineStream {
    this.setLanguage(language);
    const { hotWords, capitalsOnly, kind } = this.settings;
    const terms = hotWords ? hotWordsText(vocabulary, this.symbols, capitalsOnly) : '';
    const stream = terms === '' ? this.recogniser.createStream() : this.recogniser.createStream(terms);
    if (kind === 'cohere-transcribe') stream.setOption('language', this.codeOf(language));
    return stream;
  }

  /** Only these models can be told while they run. */
  private setLanguage(language: string | null): void {
    const { config, kind } = this.settings;
    if (kind === 'whisper') {
      // Empty: the model detects it.
      const code = language === null ? '' : this.codeOf(language);
      this.recogniser.setConfig(withSettings(config, 'whisper', { language: whisperCode(code) }));
    }
    if (kind === 'canary') {
      const code = this.codeOf(language);
      this.recogniser.setConfig(withSettings(config, 'canary', { srcLang: code, tgtLang: code }));
    }
  }

  private codeOf(language: string | null): string {
    return languageCode(language ?? this.settings.defaultLanguage) ?? 'en';
  }

  private transcript(result: SherpaResult, samples: Float32Array, { language, speech }: ChunkOptions): ChunkTranscript {
    const sections = speech && speech.length > 0 ? speech : [speechBounds(samples)];
    return transcriptOf(
      result,
      { length: samples.length / SAMPLES_PER_SECOND, speech: sections, language },
      this.settings,
    );
  }
}

const NOTHING: SherpaResult = { text: '', lang: '', tokens: [], timestamps: [], durations: [], ys_log_probs: [] };

function withSettings(
  config: OfflineRecognizerConfig,
  kind: string,
  more: Record<string, string>,
): OfflineRecognizerConfig {
  const settings = config.modelConfig[kind];
  const changed = { ...(typeof settings === 'object' ? settings : {}), ...more };
  return { ...config, modelConfig: { ...config.modelConfig, [kind]: changed } };
}

function padded(samples: Float32Array): Float32Array {
  const length = PADDED_SECONDS * SAMPLES_PER_SECOND;
  if (samples.length >= length) return samples;
  const longer = new Float32Array(length);
  longer.set(samples);
  return longer;
}

await serveChunks(() => SherpaRecogniser.create(JSON.parse(process.argv[2] ?? '{}') as SherpaSettings));
