import { existsSync } from 'node:fs';
import path from 'node:path';
import koffi from 'koffi';
import type { PieceTranscript, TranscriptWord } from './transcription-engine.js';

/** Where Debian and Fedora, Homebrew on Apple and on Intel, and a local build keep libraries and models. */
const PREFIXES = ['/usr', '/opt/homebrew', '/usr/local'];
const MODEL = 'share/pocketsphinx/model/en-us';
const FRAMES_PER_SECOND = 100;

/**
 * `fwdflat` and the two beams: half the CPU of the defaults at the same accuracy (measured, docs/decisions).
 */
const SETTINGS: Record<string, string | number | boolean> = { fwdflat: false, maxhmmpf: 5000, maxwpf: 10 };

/** PocketSphinx is not installed, or installed without its model. The message says what to install. */
export class PocketSphinxMissing extends Error {
  override readonly name = 'PocketSphinxMissing';
}

/**
 * PocketSphinx by foreign function calls, for both lines of it: 0.8/5prealpha with its base library apart (Debian)
 * and 5.x in one library (Fedora, Homebrew). Every call blocks: only for a process of its own.
 */
export class PocketSphinx {
  private readonly calls;
  private readonly decoder: unknown;
  private readonly logmath: unknown;

  /** @throws PocketSphinxMissing */
  constructor(settings = SETTINGS) {
    const config = findModel();
    const library = loadFirst([
      'libpocketsphinx.so.3',
      'libpocketsphinx.so.5',
      'libpocketsphinx.so',
      'libpocketsphinx.dylib',
    ]);
    this.calls = bind(library);
    this.decoder = this.calls.init(configure(library, { ...config, ...settings }));
    if (!this.decoder) throw new PocketSphinxMissing(`PocketSphinx refused the model in ${config.hmm}`);
    this.logmath = this.calls.logmath(this.decoder);
  }

  /** One utterance: 16 kHz mono, signed 16-bit little-endian. */
  recognise(bytes: Uint8Array): PieceTranscript {
    const { calls, decoder } = this;
    // A copy, because the bytes may begin at an odd address.
    const pcm = new Int16Array(bytes.length >> 1);
    new Uint8Array(pcm.buffer).set(bytes.subarray(0, pcm.byteLength));
    calls.startStream(decoder);
    if (calls.startUtterance(decoder) < 0) throw new Error('PocketSphinx did not start the utterance');
    calls.process(decoder, pcm, pcm.length, 0, 1);
    if (calls.endUtterance(decoder) < 0) throw new Error('PocketSphinx did not end the utterance');
    const words = this.words();
    const total = words.reduce((sum, word) => sum + (word.confidence ?? 0), 0);
    return {
      text: words.map((word) => word.word).join(' '),
      confidence: words.length > 0 ? total / words.length : null,
      language: 'english',
      words,
    };
  }

  private words(): TranscriptWord[] {
    const { calls, decoder } = this;
    const words: TranscriptWord[] = [];
    const from = [0];
    const to = [0];
    for (let segment = calls.segments(decoder); segment; segment = calls.nextSegment(segment)) {
      const word = calls.word(segment);
      // Fillers: <s>, <sil>, [NOISE], ++UH++.
      if (/^(<|\[|\+\+)/.test(word)) continue;
      calls.frames(segment, from, to);
      words.push({
        word: word.replace(/\(\d+\)$/, ''),
        start: (from[0] ?? 0) / FRAMES_PER_SECOND,
        end: ((to[0] ?? 0) + 1) / FRAMES_PER_SECOND,
        confidence: calls.exp(this.logmath, calls.posterior(segment, null, null, null)),
      });
    }
    return words;
  }
}

type Library = ReturnType<typeof koffi.load>;

function bind(library: Library) {
  return {
    init: library.func('void *ps_init(void *config)'),
    startStream: library.func('int ps_start_stream(void *ps)'),
    startUtterance: library.func('int ps_start_utt(void *ps)'),
    process: library.func(
      'int ps_process_raw(void *ps, const int16_t *data, size_t samples, int no_search, int full_utt)',
    ),
    endUtterance: library.func('int ps_end_utt(void *ps)'),
    segments: library.func('void *ps_seg_iter(void *ps)'),
    nextSegment: library.func('void *ps_seg_next(void *seg)'),
    word: library.func('const char *ps_seg_word(void *seg)'),
    frames: library.func('void ps_seg_frames(void *seg, _Out_ int *from, _Out_ int *to)'),
    posterior: library.func('int32_t ps_seg_prob(void *seg, void *acoustic, void *lm, void *backoff)'),
    logmath: library.func('void *ps_get_logmath(void *ps)'),
    exp: baseLibrary(library).func('double logmath_exp(void *logmath, int logp)'),
  };
}

function baseLibrary(library: Library): Library {
  try {
    return koffi.load('libsphinxbase.so.3');
  } catch {
    return library;
  }
}

function configure(library: Library, settings: Record<string, string | number | boolean>): unknown {
  const base = baseLibrary(library);
  base.func('int err_set_logfile(const char *path)')('/dev/null');
  const args = library.func('void *ps_args()')();
  const argv = ['pocketsphinx', ...Object.entries(settings).flatMap(([name, value]) => [`-${name}`, asText(value)])];
  return base.func('void *cmd_ln_parse_r(void *old, void *defn, int argc, const char **argv, int strict)')(
    null,
    args,
    argv.length,
    argv,
    1,
  );
}

function asText(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

function loadFirst(names: string[]): Library {
  for (const name of names) {
    for (const file of [name, ...PREFIXES.map((prefix) => path.join(prefix, 'lib', name))]) {
      try {
        return koffi.load(file);
      } catch {
        // the next place
      }
    }
  }
  throw new PocketSphinxMissing('PocketSphinx is not installed');
}

function findModel(): { hmm: string; lm: string; dict: string } {
  for (const prefix of PREFIXES) {
    const folder = path.join(prefix, MODEL);
    const hmm = path.join(folder, 'en-us');
    if (existsSync(hmm))
      return { hmm, lm: path.join(folder, 'en-us.lm.bin'), dict: path.join(folder, 'cmudict-en-us.dict') };
  }
  throw new PocketSphinxMissing('no model');
}
