const WORKER = 'src/modules/transcriptions/worker';
const PROCESSING = 'test/components/processing.e2e.ts';
const TRANSCRIBE_AGAIN = 'test/http/resources/transcriptions.e2e.ts';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const processing = [
  {
    file: 'src/platform/concurrency/lease-loops.ts',
    tests: `${WORKER}/transcription-run.service.spec.ts`,
    faults: [
      [
        'work goes on without the lease',
        'if (!(await renew().catch(() => true))) lost.abort(new LeaseLostError());',
        'await renew().catch(() => true);',
      ],
    ],
  },
  {
    file: `${WORKER}/transcription-run.service.ts`,
    tests: PROCESSING,
    name: 'an attempt that fails',
    faults: [
      ['the recording fails at the sixth crash', 'MAX_CRASHES = 5', 'MAX_CRASHES = 6'],
      ['the first delay is one second', 'FIRST_DELAY_SECONDS = 2', 'FIRST_DELAY_SECONDS = 1'],
      [
        'a stop of the worker counts as an attempt',
        'await this.leases.release(lease);',
        'await this.leases.release(lease, { attempts: 1 });',
      ],
      [
        'an outage of the storage counts',
        'await this.leases.release(lease, { delaySeconds: wait });',
        'await this.leases.release(lease, { delaySeconds: wait, attempts: 1 });',
      ],
      ['an engine that clears the audio blames it', 'audioCleared ? 0 : 1', 'audioCleared ? 1 : 1'],
    ],
  },
  {
    file: `${WORKER}/transcription-run.service.ts`,
    tests: `${WORKER}/transcription-run.service.spec.ts`,
    faults: [
      ['the lease is renewed once at its end', 'RENEWALS_PER_LEASE = 4', 'RENEWALS_PER_LEASE = 1'],
      ['a lost lease is released', 'if (error instanceof LeaseLostError) return false;', ''],
      ['renewals go on after the end', 'clearInterval(renewal);', ''],
      [
        'a stopped worker wakes nobody',
        'await this.jobs.enqueue({ recordingId: lease.id }',
        'void ({ recordingId: lease.id }',
      ],
      ['lost audio is tried again', "return 'The audio is no longer in storage.';", 'throw error;'],
    ],
  },
  {
    file: `${WORKER}/transcription-worker.service.ts`,
    tests: `${WORKER}/transcription-worker.service.spec.ts`,
    faults: [
      ['a full worker takes more of the same account', 'if (!this.isFull) return', 'return'],
      [
        'second recordings take the room of further accounts',
        'next || this.running.size >= this.limits.maximum / 2',
        'next',
      ],
      ['recordings are claimed without an engine', 'if ((await this.chain.decodingProblem()) !== null) return;', ''],
      ['a claim does not say what the worker holds', 'held: this.held, ', 'held: [], '],
      ['a stopping worker claims', '!this.stopping.signal.aborted && ', ''],
      ['a worker claims before it is started', 'return this.started && ', 'return '],
      ['a worker holds any number of recordings', 'this.running.size < this.limits.maximum', 'this.running.size >= 0'],
      [
        'a worker is never full',
        'this.foregroundAccounts.length >= this.limits.shared',
        'this.foregroundAccounts.length > 1000',
      ],
      [
        'a wake-up during a search is lost',
        'this.searchAgain = true;\n    this.search ??=',
        'this.searchAgain ||= this.search === null;\n    this.search ??=',
      ],
      [
        'the end of a recording starts no search',
        'this.running.delete(run);\n        void this.wake();',
        'this.running.delete(run);',
      ],
      ['a stop does not wait for the recordings', 'await Promise.allSettled(this.running.keys());', ''],
      [
        'without a job nothing is found',
        'this.poll = setInterval(() => void this.wake(), POLL_MS)',
        'this.poll = undefined',
      ],
      [
        'takes the background while the shared engines do not work',
        'if (next || sharedEnginesDown || inBackground',
        'if (next || inBackground',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: TRANSCRIBE_AGAIN,
    faults: [['a second request is taken', "AND rerun IS DISTINCT FROM 'requested'", '']],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: 'test/components/queries.e2e.ts',
    faults: [
      [
        'a request takes the lease of a worker',
        "AND status = 'transcribed' AND lease_token IS NULL",
        "AND status = 'transcribed'",
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/transcriptions.service.ts',
    tests: TRANSCRIBE_AGAIN,
    faults: [
      ['earlier versions are lost', 'await keepEarlier(tx, recordingId);', ''],
      [
        'search forgets a correction',
        'if (present.correctedText !== null) await',
        'if (present.correctedText === null) await',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-run.service.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'by a crash is repeated',
    faults: [
      [
        'the delay of attempts grows linearly',
        'FIRST_DELAY_SECONDS * 2 ** (lease.attempt - 1)',
        'FIRST_DELAY_SECONDS * lease.attempt',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-run.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-run.service.spec.ts',
    faults: [['an outage of the storage never ends', '        this.storageBreaker.close();\n', '']],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'is given for a new run',
    faults: [
      [
        'a retry keeps the crashes of the run before',
        'run = run + 1, attempt = 0, faults = 0,\n',
        'run = run + 1, attempt = 0,\n',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-run.service.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'by a crash is repeated',
    faults: [['one crash too many is allowed', 'lease.faults + 1 < MAX_CRASHES', 'lease.faults < MAX_CRASHES']],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-worker.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-worker.service.spec.ts',
    faults: [
      [
        'one background recording too many',
        'inBackground >= this.limits.background',
        'inBackground > this.limits.background',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/transcriptions.listener.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: 'that fails leaves',
    faults: [
      [
        'a failed rerun that the account asked for counts for the operator',
        "rerun === null || rerun === 'requested'",
        'rerun === null',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/retranscriptions.service.ts',
    tests: 'test/components/retranscriptions.e2e.ts',
    name: 'canceled',
    faults: [['a cancel takes away what a worker has begun', '\n           AND r.lease_token IS NULL)', ')']],
  },
  {
    file: 'src/modules/transcriptions/worker/engine-chain.service.ts',
    tests: 'src/modules/transcriptions/worker/engine-chain.service.spec.ts',
    faults: [
      [
        'a recording with an engine of its own wish postpones the others',
        'if (requested === null) this.postponements',
        'this.postponements',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-worker.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-worker.service.spec.ts',
    faults: [
      [
        'a full worker gives an account more than its two recordings',
        '=== id).length >= count',
        '=== id).length > count',
      ],
    ],
  },
  {
    file: 'src/platform/redis/redis.service.ts',
    tests: 'test/http/rate-limit.e2e.ts',
    name: 'those of the next second',
    faults: [
      ['each request waits for a Redis that does not answer', '      this.openUntil = Date.now() + BREAK_MS;\n', ''],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-worker.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-worker.service.spec.ts',
    faults: [
      [
        'the memory for audio does not bound the recordings',
        'Math.min(Math.max(shared, MAX_RECORDINGS), runtimes.maxRecordings)',
        'Math.max(shared, MAX_RECORDINGS)',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/retranscriptions.service.ts',
    tests: 'test/components/retranscriptions.e2e.ts',
    name: 'leave out those',
    faults: [
      [
        'what the account has asked for is put into the background',
        "AND status = 'transcribed' AND rerun IS NULL\n",
        "AND status = 'transcribed'\n",
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/transcription-versions.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: 'keeps the last five',
    faults: [['a recording keeps a version too many', 'OFFSET ${MAX_VERSIONS - 2}', 'OFFSET ${MAX_VERSIONS - 1}']],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-run.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-run.service.spec.ts',
    faults: [
      ['the second attempt comes after four seconds instead of two', '2 ** (lease.attempt - 1)', '2 ** lease.attempt'],
    ],
  },
  {
    file: 'src/modules/transcriptions/retranscriptions.service.ts',
    tests: 'test/components/retranscriptions.e2e.ts',
    name: 'are those of another model',
    faults: [
      [
        'a retranscription never comes to its end',
        'before_at = $4::timestamptz',
        "before_at = coalesce(nullif($4::timestamptz, '-infinity'), before_at)",
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-worker.service.ts',
    tests: 'src/modules/transcriptions/worker/transcription-worker.service.spec.ts',
    faults: [
      [
        'a worker takes one recording of any account more than it may',
        'this.foregroundAccounts.length >= this.limits.shared',
        'this.foregroundAccounts.length > this.limits.shared',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/transcriptions.listener.ts',
    tests: 'src/modules/transcriptions/transcriptions.listener.spec.ts',
    faults: [
      [
        'the end of a transcription is told before its commit, when readers find it in progress',
        "async ({ recording }, tx) => tx.afterCommit(() => this.signals.publish(recording.id, { type: 'end' })),",
        "async ({ recording }) => this.signals.publish(recording.id, { type: 'end' }),",
      ],
    ],
  },
];
