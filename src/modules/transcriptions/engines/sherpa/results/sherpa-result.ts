/** What sherpa-onnx returns for a chunk. Lists that a model does not fill are empty. */
export interface SherpaResult {
  text: string;
  /** `en`, `<|en|>` or empty. */
  lang: string;
  tokens: string[];
  /** Seconds; one for each token. */
  timestamps: number[];
  durations: number[];
  /** Natural logarithms; one for each token. */
  ys_log_probs: number[];
  segment_timestamps?: number[];
  segment_durations?: number[];
  segment_texts?: string[];
}

/** Characters in the text and its tokens that the library does not escape. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/g;

/**
 * Reads a result, which is almost JSON.
 * @throws SyntaxError
 */
export function readResult(json: string): SherpaResult {
  const result = JSON.parse(json.replace(CONTROL, ' ')) as Partial<SherpaResult>;
  return {
    text: result.text ?? '',
    lang: result.lang ?? '',
    tokens: result.tokens ?? [],
    timestamps: result.timestamps ?? [],
    durations: result.durations ?? [],
    ys_log_probs: result.ys_log_probs ?? [],
    segment_timestamps: result.segment_timestamps,
    segment_durations: result.segment_durations,
    segment_texts: result.segment_texts,
  };
}
