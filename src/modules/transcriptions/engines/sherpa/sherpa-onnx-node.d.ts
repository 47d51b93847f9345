/** What is used of sherpa-onnx-node, which has no type declarations. */
declare module 'sherpa-onnx-node' {
  export interface OfflineRecognizerConfig {
    featConfig: { sampleRate: number; featureDim: number };
    /** The files of the model under the name of its kind; `tokens`, `numThreads`, `provider` and others beside it. */
    modelConfig: Record<string, string | number | Record<string, string | number>>;
    decodingMethod?: 'greedy_search' | 'modified_beam_search';
    hotwordsScore?: number;
  }

  export interface OfflineStream {
    readonly handle: unknown;
    acceptWaveform(audio: { samples: Float32Array; sampleRate: number }): void;
    setOption(key: string, value: string): void;
  }

  export interface OfflineRecognizer {
    readonly handle: unknown;
    /** Hot words only with a transducer and `modified_beam_search`: the process ends otherwise. */
    createStream(hotwords?: string): OfflineStream;
    setConfig(config: OfflineRecognizerConfig): void;
  }

  export interface OnlineStream {
    readonly handle: unknown;
    acceptWaveform(audio: { samples: Float32Array; sampleRate: number }): void;
    /** What has come is all. */
    inputFinished(): void;
  }

  export interface OnlineRecognizer {
    readonly handle: unknown;
    createStream(): OnlineStream;
    /** Whether there is enough audio for `decode`. */
    isReady(stream: OnlineStream): boolean;
    decode(stream: OnlineStream): void;
  }

  export interface Clustering {
    /** −1: as many as `threshold` makes. */
    numClusters: number;
    threshold: number;
  }

  export interface OfflineSpeakerDiarizationConfig {
    segmentation: { pyannote: { model: string }; numThreads: number };
    embedding: { model: string; numThreads: number };
    clustering: Clustering;
  }

  export interface OfflineSpeakerDiarization {
    /** Takes as long as it takes, and ends the process over a voice that is shorter than a frame of the embedding. */
    process(samples: Float32Array): { start: number; end: number; speaker: number }[];
    setConfig(config: { clustering: Clustering }): void;
  }

  const sherpa: {
    OfflineSpeakerDiarization: new (config: OfflineSpeakerDiarizationConfig) => OfflineSpeakerDiarization;
    OnlineRecognizer: new (config: Omit<OfflineRecognizerConfig, 'hotwordsScore'>) => OnlineRecognizer;
    OfflineRecognizer: { createAsync(config: OfflineRecognizerConfig): Promise<OfflineRecognizer> };
  };
  export default sherpa;
}

declare module 'sherpa-onnx-node/addon.js' {
  const addon: {
    /** @returns a result as JSON, in which control characters of the text are not escaped */
    decodeOfflineStreamAsync(recognizer: unknown, stream: unknown): Promise<string>;
    /** @returns as above */
    getOnlineStreamResultAsJson(recognizer: unknown, stream: unknown): string;
  };
  export default addon;
}
