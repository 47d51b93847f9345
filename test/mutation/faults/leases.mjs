const LEASES = 'src/modules/recordings/leases';
const PROCESSING = 'test/components/processing.e2e.ts';
const FAIR_CLAIMS = 'test/components/fair-claims.e2e.ts';
/** The tests of processing that need no engine. */
const WITHOUT_ENGINE = '^(a claim|the end of a run|an attempt that fails|overdue work)';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const leases = [
  {
    file: `${LEASES}/recording-leases.queries.ts`,
    tests: PROCESSING,
    name: WITHOUT_ENGINE,
    faults: [
      [
        'a lease is renewed by anybody',
        'AND ${IS_UNFINISHED} AND lease_token = $2 RETURNING id',
        "AND status = 'processing' AND $2::uuid IS NOT NULL RETURNING id",
      ],
      [
        'a lease is released by anybody',
        'AND ${IS_UNFINISHED} AND lease_token = $2`,\n    [id, leaseToken, delaySeconds',
        "AND status = 'processing' AND $2::uuid IS NOT NULL`,\n    [id, leaseToken, delaySeconds",
      ],
      ['a recording is finished by anybody', 'ELSE lease_token = $2 END FOR UPDATE', 'ELSE true END FOR UPDATE'],
      ['an attempt is never counted', 'attempt = attempt - 1 + $4::int', 'attempt = attempt - 1 + 0 * $4::int'],
      ['a crash is not counted', 'faults = faults + $5::int', 'faults = faults + 0 * $5::int'],
      [
        'a released recording does not wait',
        'CASE WHEN $3::float8 > 0 THEN now() + make_interval(secs => $3) END',
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
      [
        'a lost lease is written',
        'if (!before) return false;\n    if (outcome',
        'if (!before) return true;\n    if (outcome',
      ],
    ],
  },
  {
    file: `${LEASES}/recording-leases.service.ts`,
    tests: 'test/http/quotas.e2e.ts',
    name: 'the decoded length',
    faults: [['decoded audio is never too much for the month', 'if (change > 0 && ', 'if (change > 1e9 && ']],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [
      [
        'decoded audio of an earlier month counts in the present one',
        'monthStart(createdAt) === month ?',
        'monthStart(new Date()) === month ?',
      ],
    ],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: FAIR_CLAIMS,
    name: 'find an account again',
    faults: [
      ['an account is unmarked while a recording of it comes', 'LIMIT $1 FOR UPDATE SKIP LOCKED', 'LIMIT $1'],
      ['no account is unmarked', 'SET is_waiting = false WHERE', 'SET is_waiting = true WHERE'],
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
      ['accounts are not left out', 's.account_id <> ALL($3::uuid[])', '$3::uuid[] IS NOT NULL'],
      ['accounts take no turns', 'ORDER BY s.virtual_end LIMIT', 'ORDER BY s.account_id LIMIT'],
      ['a claim costs nothing', 'starts + greatest(duration_ms, ${MIN_COST_MS})', 'starts'],
    ],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: 'test/http/suspended-accounts.e2e.ts',
    name: 'is neither claimed nor given up',
    faults: [['recordings of suspended accounts are claimed', "AND ${accountNotOnHold('s.account_id')}", '']],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: 'test/components/operator-metrics.e2e.ts',
    name: 'the recording without its text|a claim',
    faults: [
      ['a recording in progress has its text', "AND ${LEASED} AND lease_until < 'infinity'", 'AND false'],
      ['a link that is not fetched lacks its text', "AND lease_until < 'infinity'", ''],
      ['a test account lacks texts', 'AND a.test_of IS NULL', ''],
      ['no recording is taken over', 'r.lease_token IS NOT NULL AS taken_over', 'false AS taken_over'],
    ],
  },
  {
    file: 'src/modules/transcriptions/worker/transcription-service-level.ts',
    tests: 'src/modules/transcriptions/worker/transcription-service-level.spec.ts',
    faults: [
      ['a text has no grace', ' + GRACE_SECONDS;', ';'],
      ['a retry counts for the service level', 'run > 1 || ', ''],
      ['a crash is in time', 'ended.engine !== null && ', ''],
    ],
  },
  {
    file: `${LEASES}/recording-claims.queries.ts`,
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'metrics of the queue',
    faults: [
      ['the length of the queue has no bound for an account', 'LIMIT ${COUNTED}', ''],
      ['the queue counts recordings of suspended accounts', "AND ${accountNotOnHold('w.account_id')}`;", '`;'],
    ],
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
      ['a worker claims what it holds itself', 'AND id <> ALL($4::uuid[])', 'AND $4::uuid[] IS NOT NULL'],
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
    tests: 'test/http/resources/transcriptions.e2e.ts',
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
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'of the background',
    faults: [
      [
        'the background is claimed after its last attempt',
        "AND attempt < ${MAX_ATTEMPTS} AND ${accountNotOnHold('r.account_id')}\n    ORDER BY rerun_at",
        "AND ${accountNotOnHold('r.account_id')}\n    ORDER BY rerun_at",
      ],
      ['a worker claims what it holds in the background', 'AND id <> ALL($3::uuid[])', 'AND $3::uuid[] IS NOT NULL'],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'leave out postponed',
    faults: [
      [
        'recordings without a language are never postponed',
        'postponed.spoken IS NOT DISTINCT FROM ${SPOKEN}',
        'postponed.spoken = ${SPOKEN}',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'of the background',
    faults: [
      [
        'the background is claimed in the order of the uploads',
        'ORDER BY rerun_at, id LIMIT 1',
        'ORDER BY created_at, id LIMIT 1',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.queries.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'by a crash is repeated',
    faults: [['earlier crashes are forgotten at a release', 'faults = faults + $5::int', 'faults = $5::int']],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.queries.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: 'new event',
    faults: [
      [
        'a rerun keeps the number of its run',
        'run = run + CASE WHEN rerun IS NULL THEN 0 ELSE 1 END, rerun = NULL',
        'rerun = NULL',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'for the background',
    faults: [
      ['the background is charged for what its header did not say', 'written && !isBackground(lease) &&', 'written &&'],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'least cost',
    faults: [
      [
        'a short recording that is given back is credited less than it was charged',
        'const cost = Math.max(lease.durationMs, MIN_COST_MS)',
        'const cost = lease.durationMs',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'from where the others',
    faults: [
      [
        'an account that had nothing to do has credit after its first claim',
        'virtual_end = greatest(s.virtual_end, excluded.virtual_start) + ',
        'virtual_end = s.virtual_end + ',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'of the background',
    faults: [
      [
        'a rerun in the background is lost with its worker',
        'AND (lease_until IS NULL OR lease_until < now())\n      AND id',
        'AND lease_until IS NULL\n      AND id',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.queries.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'fails after 20 attempts',
    faults: [
      [
        'a recording without attempts left never ends',
        'AND attempt >= ${MAX_ATTEMPTS} AND lease_until',
        'AND attempt > ${MAX_ATTEMPTS} AND lease_until',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/components/fair-claims.e2e.ts',
    name: 'correct the charge',
    faults: [
      [
        'an account is not given back what a header told too much',
        'if (Math.abs(difference) < MIN_CORRECTION_MS) return;',
        'if (difference < MIN_CORRECTION_MS) return;',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-claims.queries.ts',
    tests: 'test/components/processing.e2e.ts',
    name: 'holds for LEASE_SECONDS',
    faults: [
      [
        'a claim lasts minutes for seconds, so that the recording of a dead worker waits an hour',
        'make_interval(secs => $2)',
        'make_interval(mins => $2)',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.service.ts',
    tests: 'test/http/counts.e2e.ts',
    name: 'follow the decoded length',
    faults: [
      [
        'the usage keeps the length of the header where the audio has another',
        "'processing', recording.status, change);",
        "'processing', recording.status, 0);",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/leases/recording-leases.queries.ts',
    tests: 'test/components/retranscriptions.e2e.ts',
    name: 'one run further',
    faults: [
      [
        'a recording that is transcribed again is never finished',
        'WHERE id = $1 AND ${IS_UNFINISHED}\n       AND CASE',
        "WHERE id = $1 AND status = 'processing'\n       AND CASE",
      ],
    ],
  },
];
