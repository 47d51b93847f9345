const CHAIN = 'src/modules/transcriptions/engines/chain';
const WORKER = 'src/modules/transcriptions/worker';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const engines = [
  {
    file: `${WORKER}/engine-chain.service.ts`,
    tests: `${WORKER}/engine-chain.service.spec.ts`,
    faults: [
      [
        'every recording finds out that an engine works for nobody',
        'if (isOutage) runtime.setAside(error.message);',
        '',
      ],
      ['all try an engine that may work again', ' && !candidate.runtime.isOnTrial) return', ') return'],
      [
        'a refusal fails a recording that another engine may take',
        'if (waitedFor.length > 0 || !last) throw new NoEngineError',
        'if (!last) throw new NoEngineError',
      ],
      ['a crash is handed on at once', 'if (await isOfThisRecording(runtime, original)) throw original;', ''],
      ['a recording that was taken away goes on', 'if (audio.signal.aborted || ', 'if ('],
      ['shorter recordings are postponed too', 'dependsOnLength ? durationMs : 0', '0'],
      ['nothing is postponed', 'if (requested === null) this.postponements.add', 'if (false) this.postponements.add'],
    ],
  },
  {
    file: `${CHAIN}/engine-route.ts`,
    tests: `${CHAIN}/engine-route.spec.ts`,
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
    file: `${CHAIN}/engine-vocabulary.ts`,
    tests: `${CHAIN}/engine-vocabulary.spec.ts`,
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
];
