const ENGINES = 'src/modules/transcriptions/engines';
const WORKER = 'src/modules/transcriptions/worker';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const engines = [
  {
    file: `${WORKER}/engine-chain.service.ts`,
    tests: `${WORKER}/engine-chain.service.spec.ts`,
    faults: [
      [
        'every recording finds out that an engine is down',
        'if (await isOutage(runtime, original)) runtime.setAside(original.message);',
        '',
      ],
      ['all try an engine that may work again', ' && !candidate.runtime.breaker.isOnTrial) return', ') return'],
      [
        'a refusal fails a recording that another engine may take',
        'if (waitedFor.length > 0 || !last) throw new NoEngineError',
        'if (!last) throw new NoEngineError',
      ],
      ['a crash is handed on at once', 'if (isAudioSuspected(original)) throw original;', ''],
      ['a recording that was taken away goes on', 'if (audio.signal.aborted || ', 'if ('],
      ['shorter recordings are postponed too', 'dependsOnLength ? durationMs : 0', '0'],
      ['nothing is postponed', 'if (requested === null) this.postponements.add', 'if (false) this.postponements.add'],
    ],
  },
  {
    file: `${ENGINES}/engine-choice.ts`,
    tests: `${ENGINES}/engine-choice.spec.ts`,
    faults: [
      ['an engine gets every crash of a recording', 'CRASHES_PER_ENGINE = 2', 'CRASHES_PER_ENGINE = 200'],
      ['a length is ignored', '(seconds ?? 0) <= maxSeconds', 'maxSeconds > 0'],
      [
        'a recording without a language goes to an engine for others',
        'return open.length > 0 ? open : chain;',
        'return chain;',
      ],
      ['a missing engine makes a language unsupported', ' && missing.length === 0) throw', ') throw'],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/language-choice.ts',
    tests: 'src/modules/transcriptions/worker/language-choice.spec.ts',
    faults: [
      ['a detected language outside of the list is taken', ' && candidates.includes(heard.language)', ''],
      ['the last language is kept, however unsure', 'sureness(heard) > sureness(surest)', 'surest'],
      ['no text is surer than some', "transcript.text.trim() === '' ? -1", "transcript.text.trim() === '' ? 2"],
    ],
  },
  {
    file: `${ENGINES}/engine-vocabulary.ts`,
    tests: `${ENGINES}/engine-vocabulary.spec.ts`,
    faults: [
      ['an engine gets more terms than it takes', 'if (terms.length >= maxVocabularyTerms) break;', ''],
      ['a prompt is longer than Whisper reads', 'MAX_COST = 200', 'MAX_COST = 20_000'],
      [
        'terms of the account come first',
        '[...sources.upload, ...sources.account]',
        '[...sources.account, ...sources.upload]',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/postponed-recordings.ts',
    tests: 'src/modules/transcriptions/engines/postponed-recordings.spec.ts',
    faults: [
      [
        'the last postponement of an account decides from which length on',
        'Math.min(known?.minDurationMs ?? Infinity, postponed.minDurationMs)',
        'postponed.minDurationMs',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/audio/decoder.ts',
    tests: 'src/modules/transcriptions/audio/decoder.spec.ts',
    faults: [
      ['the time in which the reader is busy counts as silence of the decoder', '    this.isPaused = true;\n', ''],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/engine-choice.ts',
    tests: 'src/modules/transcriptions/engines/engine-choice.spec.ts',
    faults: [
      [
        'an engine does not get a recording of exactly its maximum',
        '(seconds ?? 0) <= maxSeconds',
        '(seconds ?? 0) < maxSeconds',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/engine-vocabulary.ts',
    tests: 'src/modules/transcriptions/engines/engine-vocabulary.spec.ts',
    faults: [
      [
        'a long term keeps all later ones from the engine',
        'if (cost + costOf(term) > MAX_COST) continue;',
        'if (cost + costOf(term) > MAX_COST) break;',
      ],
    ],
  },
  {
    file: 'src/platform/concurrency/fair-queue.ts',
    tests: 'src/platform/concurrency/fair-queue.spec.ts',
    faults: [
      ['the background takes every slot', 'Math.max(1, slots - 1)', 'slots'],
      [
        'the background goes first',
        'this.turns.take() ?? this.takeFromBackground()',
        'this.takeFromBackground() ?? this.turns.take()',
      ],
      ['the background gives back no slot', '          if (isBackground) this.freeForBackground++;\n', ''],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/circuit-breaker.ts',
    tests: 'src/modules/transcriptions/engines/circuit-breaker.spec.ts',
    faults: [['the wait of an outage does not grow', 'this.since ??= now', 'this.since = now']],
  },
  {
    file: 'src/modules/transcriptions/engines/circuit-breaker.ts',
    tests: 'src/modules/transcriptions/worker/engine-chain.service.spec.ts',
    faults: [['a trial never ends', 'if (isTrial) this.trials--;', '']],
  },
  {
    file: 'src/modules/transcriptions/audio/decoder.ts',
    tests: 'src/modules/transcriptions/audio/decoder.spec.ts',
    faults: [
      [
        'a decoder hangs after a busy reader',
        '    this.isPaused = false;\n    this.isRestarted = true;',
        '    this.isPaused = false;',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/audio/decoder.ts',
    tests: 'test/components/engines/decoder.e2e.ts',
    faults: [['the second channel is decoded as the first', 'c0=c${channel}', 'c0=c0']],
  },
  {
    file: 'src/modules/transcriptions/audio/chunk-cutter.ts',
    tests: 'src/modules/transcriptions/audio/chunk-cutter.spec.ts',
    faults: [
      [
        'a chunk ends where the speech does, and loses its last sound',
        'if (long) return { end: long.start + PADDING, overlap: 0 };',
        'if (long) return { end: long.start, overlap: 0 };',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcribe-chunks.ts',
    tests: 'src/modules/transcriptions/worker/transcribe-chunks.spec.ts',
    faults: [
      [
        'a recording that has failed begins another chunk',
        '(error: unknown) => {\n      failure.abort(error);\n',
        '(error: unknown) => {\n',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/join-transcripts.ts',
    tests: 'src/modules/transcriptions/worker/join-transcripts.spec.ts',
    faults: [['words end at the times of their chunk', 'end: rounded(end + by, 2)', 'end: rounded(end, 2)']],
  },
  {
    file: 'src/modules/transcriptions/engines/engine-choice.ts',
    tests: 'src/modules/transcriptions/engines/engine-choice.spec.ts',
    faults: [
      [
        'a recording too long for all goes to the engine of the shortest',
        '(b.maxSeconds ?? Infinity) - (a.maxSeconds ?? Infinity)',
        '(a.maxSeconds ?? Infinity) - (b.maxSeconds ?? Infinity)',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/openai/openai.engine.ts',
    tests: 'test/components/engines/openai-engine.e2e.ts',
    name: 'all delays together',
    faults: [['the waits for a server have no limit together', '      delayLeft -= wait;\n', '']],
  },
  {
    file: 'src/modules/transcriptions/engines/children/engine-child.ts',
    tests: 'src/modules/transcriptions/engines/children/child-pool.spec.ts',
    faults: [
      ['an engine process is ended after its limit although it has answered', '      clearTimeout(limit);\n', ''],
    ],
  },
  {
    file: 'src/modules/transcriptions/engines/openai/openai.errors.ts',
    tests: 'src/modules/transcriptions/engines/openai/openai.errors.spec.ts',
    faults: [['a key that a server repeats twice is logged', 'message.replaceAll(apiKey', 'message.replace(apiKey']],
  },
  {
    file: 'src/modules/transcriptions/audio/chunk-cutter.ts',
    tests: 'src/modules/transcriptions/audio/chunk-cutter.spec.ts',
    faults: [
      [
        'audio is cut every five seconds, in the middle of words',
        'yield* this.cutAll(false);',
        'yield* this.cutAll(true);',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/audio/peak-meter.ts',
    tests: 'src/modules/transcriptions/audio/peak-meter.spec.ts',
    faults: [['the waveform of a longer recording shows its end far too wide', '    this.windowSamples *= 2;\n', '']],
  },
  {
    file: 'src/modules/transcriptions/engines/openai/openai.segments.ts',
    tests: 'src/modules/transcriptions/engines/openai/openai.response.spec.ts',
    faults: [
      [
        'words of which the engine is sure are dropped beside noise',
        'noSpeech > NO_SPEECH_ABOVE && logprob !== null && logprob < LOGPROB_BELOW',
        'noSpeech > NO_SPEECH_ABOVE',
      ],
    ],
  },
];
