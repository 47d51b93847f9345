const LEASES = 'src/modules/recordings/leases';
const WORKER = 'src/modules/transcriptions/worker';
const PROCESSING = 'test/components/processing.e2e.ts';
const FAIR_CLAIMS = 'test/components/fair-claims.e2e.ts';
const TRANSCRIBE_AGAIN = 'test/http/resources/transcribe-again.e2e.ts';
/** The tests of processing that need no engine. */
const WITHOUT_ENGINE = '^(a claim|the end of a run|an attempt that fails|overdue work)';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const processing = [
  {
    file: `${LEASES}/recording-leases.queries.ts`,
    tests: PROCESSING,
    name: WITHOUT_ENGINE,
    faults: [
      [
        'a lease is renewed by anybody',
        'AND ${IS_OWED} AND lease_token = $2 RETURNING id',
        "AND status = 'processing' AND $2::uuid IS NOT NULL RETURNING id",
      ],
      [
        'a lease is released by anybody',
        'AND ${IS_OWED} AND lease_token = $2`,\n    [id, leaseToken, delaySeconds',
        "AND status = 'processing' AND $2::uuid IS NOT NULL`,\n    [id, leaseToken, delaySeconds",
      ],
      ['a recording is finished by anybody', 'ELSE lease_token = $2 END FOR UPDATE', 'ELSE true END FOR UPDATE'],
      ['an attempt is never counted', 'attempt = attempt - 1 + $4::int', 'attempt = attempt - 1 + 0 * $4::int'],
      ['a crash is not counted', 'faults = faults + $5::int', 'faults = faults + 0 * $5::int'],
      [
        'a released recording does not wait',
        'CASE WHEN $3 > 0 THEN now() + make_interval(secs => $3) END',
        'CASE WHEN $3 < 0 THEN now() + make_interval(secs => $3) END',
      ],
      ['recordings are given up after 21 attempts', 'MAX_ATTEMPTS = 20', 'MAX_ATTEMPTS = 21'],
    ],
  },
  {
    file: `${LEASES}/recording-leases.service.ts`,
    tests: PROCESSING,
    name: WITHOUT_ENGINE,
    faults: [
      [
        'a terminal state without its event',
        'await this.bus.emit(new RecordingTranscribed(recording, transcript, before.rerun), tx);',
        '',
      ],
      ['a lost lease is written', 'if (!before) return false;', 'if (!before) return true;'],
    ],
  },
  {
    file: `${LEASES}/recording-leases.service.ts`,
    tests: FAIR_CLAIMS,
    name: 'charge what was decoded',
    faults: [
      [
        'the account pays for what the header said',
        "if (written && !isBackground(lease) && outcome.status === 'transcribed')",
        "if (!written && outcome.status === 'transcribed')",
      ],
    ],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: FAIR_CLAIMS,
    name: 'oldest recording|without credit|leave out|charge|seconds of audio',
    faults: [
      [
        'the newest recording of an account is first',
        'ORDER BY ${QUEUED_AT}, id LIMIT ${HEADS}',
        'ORDER BY created_at DESC, id LIMIT ${HEADS}',
      ],
      ['an idle account has credit', '(SELECT max(virtual_start) FROM transcription_shares), 0)', '0)'],
      ['accounts are not left out', 'a.account_id <> ALL($3::uuid[])', '$3::uuid[] IS NOT NULL'],
      ['a claim costs nothing', 'starts + greatest(duration_ms, ${MIN_COST_MS})', 'starts'],
    ],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: 'test/http/suspended-accounts.e2e.ts',
    name: 'is neither claimed nor given up',
    faults: [['recordings of suspended accounts are claimed', "AND ${queueMovesOn('a.account_id')}", '']],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: PROCESSING,
    name: WITHOUT_ENGINE,
    faults: [
      [
        'a lease is never taken over',
        'AND lease_until < now() AND attempt < ${MAX_ATTEMPTS}`',
        'AND false AND attempt < ${MAX_ATTEMPTS}`',
      ],
      [
        'a claim has no lease',
        'lease_until = clock_timestamp() + make_interval(secs => $2)',
        'lease_until = clock_timestamp() + 0 * make_interval(secs => $2)',
      ],
      [
        'a claim keeps the token of the last holder',
        'SET lease_token = $1, attempt',
        'SET lease_token = coalesce(r.lease_token, $1), attempt',
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
        'await this.leases.release(lease, 0, 0, 0);',
        'await this.leases.release(lease, 0, 1, 0);',
      ],
      [
        'an outage of the storage counts',
        'return await this.leases.release(lease, wait, 0, 0);',
        'return await this.leases.release(lease, wait, 1, 0);',
      ],
      ['an engine that clears the audio blames it', 'audioCleared ? 0 : 1', 'audioCleared ? 1 : 1'],
    ],
  },
  {
    file: `${WORKER}/transcription-run.service.ts`,
    tests: `${WORKER}/transcription-run.service.spec.ts`,
    faults: [
      ['work goes on without the lease', 'if (held === false) lost.abort(new LeaseLostError());', ''],
      ['the lease is renewed once at its end', 'RENEWALS_PER_LEASE = 4', 'RENEWALS_PER_LEASE = 1'],
      ['a lost lease is released', 'if (error instanceof LeaseLostError) return;', ''],
      ['a lease that may be lost is taken for held', 'this.doubtful.add(lease)', 'this.doubtful.delete(lease)'],
      ['renewals go on after the end', 'clearInterval(renewal);', ''],
      [
        'a stopped worker wakes nobody',
        'await this.jobs.enqueue({ recordingId: lease.id }',
        'void ({ recordingId: lease.id }',
      ],
      ['lost audio is tried again', "return this.fail(lease, 'The audio is no longer in storage.');", 'throw error;'],
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
      [
        'recordings are claimed without an engine',
        ' || (await this.chain.decodingProblem()) !== null) return;',
        ') return;',
      ],
      ['recordings are claimed while Postgres may have given others away', 'this.runs.hasDoubtfulLease || ', ''],
      ['a stopping worker claims', '!this.stopping.signal.aborted && ', ''],
      ['a worker claims before it is started', 'return this.started && ', 'return '],
      ['a worker holds any number of recordings', 'this.running.size < this.limits.maximum', 'this.running.size >= 0'],
      ['a worker is never full', 'this.shares.length >= this.limits.shared', 'this.shares.length > 1000'],
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
        'if (next || ofSharedEngines || inBackground',
        'if (next || inBackground',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: TRANSCRIBE_AGAIN,
    faults: [
      ['a second request is taken', "AND rerun IS DISTINCT FROM 'requested'", ''],
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
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'charge each channel',
    faults: [
      [
        'a recording of two channels costs its account one',
        'outcome.durationMs * (outcome.features.channels ?? 1)',
        'outcome.durationMs',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/http/resources/transcribe-again.e2e.ts',
    name: 'that fails leaves',
    faults: [
      [
        'a rerun that failed stays counted in the queue',
        '    const recording = await endFailedRerun(tx, id);\n    await countEnd(tx, recording, before);\n',
        '    const recording = await endFailedRerun(tx, id);\n',
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
    faults: [
      ['an outage of the storage never ends', '        this.storageOutage.end();\n', ''],
      [
        'a renewal does not extend the time for which the lease is known to be held',
        '      if (held) heldUntil = renewedAt + leaseMs;\n',
        '',
      ],
      [
        'a recording whose lease was doubtful keeps the worker from claims when it has ended',
        '      clearInterval(renewal);\n      this.doubtful.delete(lease);\n',
        '      clearInterval(renewal);\n',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'is given for a new run',
    faults: [
      [
        'a retry keeps the crashes of the run before',
        'run = run + 1, attempt = 0, faults = 0, lease_until',
        'run = run + 1, attempt = 0, lease_until',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'of the background',
    faults: [
      [
        'the background is claimed after its last attempt',
        "      AND attempt < ${MAX_ATTEMPTS} AND ${queueMovesOn('r.account_id')}\n    ORDER BY rerun_at",
        "      AND ${queueMovesOn('r.account_id')}\n    ORDER BY rerun_at",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'leave out postponed',
    faults: [
      [
        'recordings without a language are never postponed',
        'postponed.language IS NOT DISTINCT FROM recordings.language',
        'postponed.language = recordings.language',
      ],
    ],
  },
];
