import { existsSync } from 'node:fs';
import path from 'node:path';
import koffi from 'koffi';
import type { LivePart } from './children/child-messages.js';
import type { ChunkTranscript, TranscriptWord } from './transcription-engine.js';

/** Folders of libraries and models: Debian and Fedora; Homebrew on Apple silicon; Homebrew on Intel and local builds. */
const PREFIXES = ['/usr', '/opt/homebrew', '/usr/local'];
const MODEL = 'share/pocketsphinx/model/en-us';
const FRAMES_PER_SECOND = 100;
const INSTALL =
  'Debian/Ubuntu: apt-get install libpocketsphinx3 libsphinxbase3 pocketsphinx-en-us; ' +
  'Fedora: dnf install pocketsphinx pocketsphinx-models; macOS: brew install cmu-pocketsphinx';

/**
 * A quarter fewer word errors than the defaults (24.5 % against 32.0 %) in three quarters of their CPU time; measured in
 * docs/decisions/0006-pocketsphinx-settings.md.
 */
const SETTINGS: Settings = { fwdflat: false, bestpathlw: 12, lponlybeam: 1e-40, maxhmmpf: 6000 };

type Settings = Record<string, string | number | boolean>;
type Library = ReturnType<typeof koffi.load>;

/** PocketSphinx or its model is not installed. */
class PocketSphinxMissingError extends Error {
  override readonly name = 'PocketSphinxMissingError';

  constructor(what: string) {
    super(`${what} (${INSTALL})`);
  }
}

/**
 * Foreign function calls to both release lines of PocketSphinx: 0.8/5prealpha with a separate base library (Debian) and
 * 5.x as a single library (Fedora, Homebrew). Every call blocks, so it must run in a process of its own.
 */
export class PocketSphinx {
  private readonly calls;
  private readonly decoder: unknown;
  private readonly logmath: unknown;
  private inUtterance = false;

  /** @throws PocketSphinxMissingError */
  constructor(settings = SETTINGS) {
    const model = findModel();
    const { base, main } = loadLibraries();
    this.calls = bind(main, base);
    this.decoder = this.calls.init(configure(main, base, { ...model, ...settings }));
    if (!this.decoder) throw new PocketSphinxMissingError(`PocketSphinx cannot load its model in ${model.hmm}`);
    this.logmath = this.calls.logmath(this.decoder);
  }

  /** One utterance: 16 kHz mono, signed 16-bit little-endian. */
  transcribe(bytes: Uint8Array): ChunkTranscript {
    this.start();
    this.process(bytes, true);
    this.end();
    return this.transcript();
  }

  /** The next part of an utterance, as above. @returns what the audio of it so far may be; when it ends, what it is. */
  transcribePart(bytes: Uint8Array, { isNew, ends }: LivePart): ChunkTranscript {
    if (isNew && this.inUtterance) this.end();
    if (!this.inUtterance) this.start();
    this.process(bytes, false);
    if (ends) this.end();
    return this.transcript();
  }

  private start(): void {
    // Otherwise the frames would be counted from the utterance before.
    this.calls.startStream(this.decoder);
    if (this.calls.startUtterance(this.decoder) < 0) throw new Error('PocketSphinx could not start the utterance');
    this.inUtterance = true;
  }

  /** @param isWhole as the whole utterance, whose mean is then known before it is recognised. */
  private process(bytes: Uint8Array, isWhole: boolean): void {
    // Copied, because the bytes may start at an odd address.
    const pcm = new Int16Array(bytes.length >> 1);
    new Uint8Array(pcm.buffer).set(bytes.subarray(0, pcm.byteLength));
    this.calls.process(this.decoder, pcm, pcm.length, 0, isWhole ? 1 : 0);
  }

  private end(): void {
    this.inUtterance = false;
    if (this.calls.endUtterance(this.decoder) < 0) throw new Error('PocketSphinx could not end the utterance');
  }

  private transcript(): ChunkTranscript {
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
        // Logarithms are integers to the base 1.0001, so that a certain word may come out slightly above 1.
        confidence: Math.min(1, calls.exp(this.logmath, calls.posterior(segment, null, null, null))),
      });
    }
    return words;
  }
}

interface Libraries {
  /** The functions shared with other CMU Sphinx projects. In 5.x the same library as `main`. */
  base: Library;
  main: Library;
}

function loadLibraries(): Libraries {
  const base = loadFirst('libsphinxbase.so.3', 'libsphinxbase.dylib');
  const main = loadFirst('libpocketsphinx.so.3', 'libpocketsphinx.so.5', 'libpocketsphinx.so', 'libpocketsphinx.dylib');
  if (!main) throw new PocketSphinxMissingError('PocketSphinx is not installed');
  return { base: base ?? main, main };
}

function loadFirst(...names: string[]): Library | null {
  // The bare name first: the system's loader searches its own folders, such as /usr/lib/x86_64-linux-gnu on Debian.
  for (const file of names.flatMap((name) => [name, ...PREFIXES.map((prefix) => path.join(prefix, 'lib', name))])) {
    try {
      return koffi.load(file);
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

function findModel(): { hmm: string; lm: string; dict: string } {
  const folder = PREFIXES.map((prefix) => path.join(prefix, MODEL)).find((candidate) => existsSync(candidate));
  if (!folder) throw new PocketSphinxMissingError("PocketSphinx's US English model is not installed");
  const inFolder = (name: string): string => path.join(folder, name);
  return { hmm: inFolder('en-us'), lm: inFolder('en-us.lm.bin'), dict: inFolder('cmudict-en-us.dict') };
}

function configure(main: Library, base: Library, settings: Settings): unknown {
  if (base === main) {
    main.func('const char *err_set_loglevel_str(const char *level)')('FATAL');
    return main.func('void *ps_config_parse_json(void *config, const char *json)')(null, JSON.stringify(settings));
  }
  base.func('int err_set_logfile(const char *path)')('/dev/null');
  const definitions: unknown = main.func('void *ps_args()')();
  const argv = ['pocketsphinx', ...Object.entries(settings).flatMap(([name, value]) => [`-${name}`, flagText(value)])];
  const parse = base.func('void *cmd_ln_parse_r(void *old, void *defn, int argc, const char **argv, int strict)');
  return parse(null, definitions, argv.length, argv, 1);
}

function flagText(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}

function bind(main: Library, base: Library) {
  return {
    init: main.func('void *ps_init(void *config)'),
    startStream: main.func('int ps_start_stream(void *ps)'),
    startUtterance: main.func('int ps_start_utt(void *ps)'),
    process: main.func('int ps_process_raw(void *ps, const int16_t *pcm, size_t samples, int no_search, int full_utt)'),
    endUtterance: main.func('int ps_end_utt(void *ps)'),
    segments: main.func('void *ps_seg_iter(void *ps)'),
    nextSegment: main.func('void *ps_seg_next(void *seg)'),
    word: main.func('const char *ps_seg_word(void *seg)'),
    frames: main.func('void ps_seg_frames(void *seg, _Out_ int *from, _Out_ int *to)'),
    posterior: main.func('int32_t ps_seg_prob(void *seg, void *acoustic, void *lm, void *backoff)'),
    logmath: main.func('void *ps_get_logmath(void *ps)'),
    exp: base.func('double logmath_exp(void *logmath, int logp)'),
  };
}
