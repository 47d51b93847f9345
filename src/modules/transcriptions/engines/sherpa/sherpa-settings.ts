import type { OfflineRecognizerConfig } from 'sherpa-onnx-node';
import { type ModelFolder, readTokens, type Streaming } from '../../../models/model-folder.js';
import { SAMPLES_PER_SECOND } from '../../audio/pcm.js';

/** What a child is started with, as JSON. */
export interface SherpaSettings {
  config: OfflineRecognizerConfig;
  kind: ModelFolder['kind'];
  /** The file with the model's symbols. */
  tokens: string;
  defaultLanguage: string;
  /** The model writes capitals only: its text is turned into small letters. */
  capitalsOnly: boolean;
  hotWords: boolean;
  /** Null for a model of whole chunks. */
  streaming: Streaming | null;
  /** The longest chunk. The child tries that much before it says that it is ready: it may need more memory than there is. */
  maxSeconds: number;
}

/** Added to the log probability of every piece of a hot word; the value of sherpa-onnx's own examples. */
const HOT_WORD_SCORE = 2;
/** A symbol that the tokens file adds to those of the language. */
const SPECIAL = /^(<.*>|\[.*\]|#\d+)$/;
const HAN = /^\p{Script=Han}$/u;

/** @param tokens the tokens file for sherpa-onnx, if it is not the model's own */
export function sherpaSettings(
  model: ModelFolder,
  { defaultLanguage, maxSeconds }: { defaultLanguage: string; maxSeconds: number },
  tokens = model.files.tokens,
): SherpaSettings {
  const symbols = languageSymbols(model);
  const unit = modelingUnit(model, symbols);
  return {
    config: {
      featConfig: { sampleRate: SAMPLES_PER_SECOND, featureDim: 80 },
      modelConfig: {
        tokens,
        // More threads in one process collapse when the cores are busy.
        numThreads: 1,
        provider: 'cpu',
        debug: 0,
        ...model.settings,
        ...unit,
      },
      ...(unit ? { decodingMethod: 'modified_beam_search', hotwordsScore: HOT_WORD_SCORE } : {}),
    },
    kind: model.kind,
    tokens: model.files.tokens,
    defaultLanguage,
    // Tokens of Whisper are in Base64.
    capitalsOnly: model.kind !== 'whisper' && !symbols.some((symbol) => /\p{Ll}/u.test(symbol)),
    hotWords: unit !== null,
    streaming: model.streaming,
    maxSeconds,
  };
}

export function knowsHotWords(model: ModelFolder): boolean {
  return modelingUnit(model, languageSymbols(model)) !== null;
}

function languageSymbols({ files }: ModelFolder): string[] {
  return readTokens(files.tokens).filter((symbol) => !SPECIAL.test(symbol));
}

/** How a transducer's tokens make up a hot word; null when nothing says so, or for another kind of model. */
function modelingUnit(
  { kind, files }: ModelFolder,
  symbols: readonly string[],
): { modelingUnit: string; bpeVocab?: string } | null {
  if (kind !== 'transducer' && kind !== 'nemo-transducer') return null;
  const hasCharacters = symbols.some((symbol) => HAN.test(symbol));
  if (files.bpeVocabulary === undefined) return hasCharacters ? { modelingUnit: 'cjkchar' } : null;
  return { modelingUnit: hasCharacters ? 'cjkchar+bpe' : 'bpe', bpeVocab: files.bpeVocabulary };
}

/**
 * Terms as sherpa-onnx reads them: `/` stands between two, and a word that begins with `:`, `#` or `@` has a meaning of its
 * own. Terms with characters that no token of the model has are left out: a part of a term would be made likelier.
 * @param symbols the model's tokens
 */
export function hotWordsText(terms: readonly string[], symbols: readonly string[], capitalsOnly: boolean): string {
  const alphabet = new Set(symbols.flatMap((symbol) => [...symbol.toLowerCase()]));
  const hasCapitals = capitalsOnly || symbols.some((symbol) => /\p{Lu}/u.test(symbol));
  return terms
    .map((term) => cleaned(term))
    .filter(
      (term) =>
        term !== '' && [...term.toLowerCase()].every((character) => character === ' ' || alphabet.has(character)),
    )
    .map((term) => (capitalsOnly ? term.toUpperCase() : hasCapitals ? term : term.toLowerCase()))
    .join('/');
}

function cleaned(term: string): string {
  return term
    .replaceAll('/', ' ')
    .split(/\s+/)
    .map((word) => word.replace(/^[:#@]+/, ''))
    .filter((word) => word !== '')
    .join(' ');
}
