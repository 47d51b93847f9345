const ENV = 'src/platform/config/env.ts';
const STATES = 'test/components/webhooks/delivery-states.e2e.ts';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const retention = [
  {
    file: 'src/platform/config/env-reader.ts',
    tests: 'src/platform/config/env.spec.ts',
    faults: [['the retry schedule is shorter', '50_400, 72_000, 86_400]', '50_400, 72_000]']],
  },
  {
    file: ENV,
    tests: 'src/platform/config/env.spec.ts',
    faults: [
      ['events are kept for a day', "'EVENT_RETENTION_DAYS', 30", "'EVENT_RETENTION_DAYS', 1"],
      ['a lease lasts ten minutes', "'LEASE_SECONDS', 60", "'LEASE_SECONDS', 600"],
      ['uploads may fill the disk', "'STORAGE_MIN_FREE_BYTES', 2 ** 30", "'STORAGE_MIN_FREE_BYTES', 0"],
      ['strangers have ten times the rate', '{ rate: 60, burst: 120 }', '{ rate: 600, burst: 1200 }'],
    ],
  },
  {
    file: 'src/modules/webhooks/events/webhook-events.service.ts',
    tests: STATES,
    name: 'past their retention',
    faults: [
      [
        'old events are never deleted',
        'created_at < now() - make_interval(days => $1)',
        'created_at < now() - 99 * make_interval(days => $1)',
      ],
      [
        'recent events are deleted',
        'created_at < now() - make_interval(days => $1)',
        'created_at < now() - 0.5 * make_interval(days => $1)',
      ],
      [
        'events with pending deliveries are deleted',
        "d.event_id = s.id AND d.status = 'pending'",
        "d.event_id = s.id AND d.status = 'none'",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/idempotency.queries.ts',
    tests: STATES,
    name: 'past their retention',
    faults: [
      ['idempotency keys are kept for two days', 'KEPT_SECONDS = 86_400', 'KEPT_SECONDS = 172_800'],
      ['idempotency keys are kept for twelve hours', 'KEPT_SECONDS = 86_400', 'KEPT_SECONDS = 43_200'],
    ],
  },
  {
    file: 'src/modules/recordings/upload/idempotency.queries.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'is forgotten after 24 h',
    faults: [
      ['an expired idempotency key is found', 'AND created_at >= now() - make_interval(secs => $4)', 'AND $4 > 0'],
    ],
  },
  {
    file: 'src/modules/recordings/recordings.reconciler.ts',
    tests: 'src/modules/recordings/recordings.reconciler.spec.ts',
    faults: [
      ['spool files in use are swept', '2 * (this.env.uploadTimeoutSeconds', '0 * (this.env.uploadTimeoutSeconds'],
      [
        'the spool is swept by one process of the fleet',
        "everyProcess: true,\n      repairs: 'spool_file_abandoned'",
        "repairs: 'spool_file_abandoned'",
      ],
      ['one batch of expired keys is deleted', 'void (await repeatWhileFull(BATCH, change))', 'void (await change())'],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-counters.queries.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: 'within its quota',
    faults: [
      [
        'a recording that is deleted while it waits for a rerun stays in the queue',
        "const isQueued = status === 'processing' || rerun === 'requested';",
        "const isQueued = status === 'processing';",
      ],
      [
        'the queue loses the decoded length for the length of the header',
        '-(recording.durationMs - durationMs)',
        '-recording.durationMs',
      ],
    ],
  },
  {
    file: 'src/platform/queue/reconciler.service.ts',
    tests: 'src/platform/queue/reconciler.service.spec.ts',
    faults: [
      [
        'a task of the reconciler that fails ends the round',
        "this.logger.warn({ err: error, task: name }, 'reconciler task failed');",
        'throw error;',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/counter-audit.service.ts',
    tests: 'test/components/commands/counter-commands.e2e.ts',
    name: 'find and mend',
    faults: [
      [
        'counters:verify does not see a queue that is too long',
        "HAVING CASE WHEN figure IN ('listed', 'bytes', 'queued_ms')",
        "HAVING CASE WHEN figure IN ('listed', 'bytes')",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-breakdown.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'counts for no end user',
    faults: [
      [
        'the usage of an erased user replaces that of none',
        "${addTo('b', BREAKDOWN_FIGURES)}",
        "${BREAKDOWN_FIGURES.map((figure) => `${figure} = excluded.${figure}`).join(', ')}",
      ],
    ],
  },
  {
    file: 'src/modules/users/users.service.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'is completed by the reconciler',
    faults: [
      [
        'an erasure that is complete is done again in each round',
        '    await endErasure(this.database, erasure);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/retranscriptions.service.ts',
    tests: 'test/fleet/retranscriptions.e2e.ts',
    name: 'keeps to its rate',
    faults: [
      [
        'each batch of a round may use the whole rate of a retranscription',
        '        budgets.set(job.jobId, budget - marked);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-breakdown.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'erased|user',
    faults: [
      [
        'the deltas of other end users are forgotten, too',
        "SET user_id = NULL WHERE account_id = $1 AND user_id = $2'",
        "SET user_id = NULL WHERE account_id = $1 AND $2::text IS NOT NULL'",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/idempotency.queries.ts',
    tests: 'test/components/webhooks/delivery-states.e2e.ts',
    name: 'the reconciler',
    faults: [
      [
        'idempotency keys are kept for ever',
        'make_interval(secs => ${KEPT_SECONDS})',
        'make_interval(days => ${KEPT_SECONDS})',
      ],
    ],
  },
  {
    file: 'src/commands/admin/purge-account.ts',
    tests: 'test/components/commands/account-purge.e2e.ts',
    name: 'removes a suspended|killed in the middle',
    faults: [
      [
        'a purge leaves the removals of its objects for later',
        'SELECT object_key, now() FROM gone',
        "SELECT object_key, now() + interval '1 hour' FROM gone",
      ],
    ],
  },
  {
    file: 'src/platform/queue/reconciler.service.ts',
    tests: 'src/platform/queue/reconciler.service.spec.ts',
    faults: [
      [
        'a process with several roles repairs nothing',
        "!this.env.roles.includes('deliverer')",
        "this.env.roles.some((role) => role !== 'deliverer')",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage.service.ts',
    tests: 'test/http/resources/account.e2e.ts',
    faults: [['a report of usage has one day too many', '(days - 1) * DAY_MS', 'days * DAY_MS']],
  },
  {
    file: 'src/commands/admin/purge-account.ts',
    tests: 'test/components/commands/account-purge.e2e.ts',
    // The first command of a file is a process of the build, which has no faults.
    name: 'removes a suspended account|killed in the middle',
    faults: [
      [
        'a purge leaves removals that a worker had begun',
        '(remove_after <= now() OR attempts > 0)',
        'remove_after <= now()',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-counters.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'is exact while',
    faults: [['a retry leaves its recording counted as failed', '{ ...endedAs(from, -1), listed', '{ listed']],
  },
  {
    file: 'src/modules/recordings/recordings.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'out of the queue',
    faults: [['an erased rerun stays in the queue of the account', " OR rerun = 'requested'), 0)\n", '), 0)\n']],
  },
  {
    file: 'src/modules/recordings/retention/retention.queries.ts',
    tests: 'test/http/resources/retention.e2e.ts',
    faults: [
      ['the audio of a recording that is transcribed again is deleted', ' AND r.rerun IS NULL', ''],
      ['what is on hold is deleted', ' AND r.held_at IS NULL', ''],
      ['deleted audio goes on filling the quota', '-sum(file_size_bytes)', '0'],
      ['audio goes before its time', ' AND ${DUE} <= now()', ''],
      ['an upload does not take the policy of its account', '::timestamptz + ${hoursOf(column)})', '::timestamptz)'],
    ],
  },
  {
    file: 'src/modules/account/request-errors.service.ts',
    tests: 'test/http/request-errors.e2e.ts',
    name: 'are those of the last days',
    faults: [['the errors of one day too many are shown', 'AND day > (now()', 'AND day >= (now()']],
  },
  {
    file: 'src/platform/queue/reconciler.service.ts',
    tests: 'src/platform/queue/reconciler.service.spec.ts',
    faults: [
      [
        'the rounds of the reconciler follow each other at once',
        'this.schedule(this.env.reconcileSeconds * 1000)',
        'this.schedule(this.env.reconcileSeconds)',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/recording-erasure.service.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'deletes the recordings in every state',
    faults: [
      [
        'the events of an erasure keep the tags',
        '{ ...recording, userId: null, customTags: null }',
        '{ ...recording, userId: null }',
      ],
    ],
  },
  {
    file: 'src/platform/queue/reconciler.service.ts',
    tests: 'src/platform/queue/reconciler.service.spec.ts',
    faults: [
      [
        'each deliverer has a round of its own',
        'if (held && (await this.takeTurn())) await work();',
        'if (held) await work();',
      ],
      ['a process that freezes keeps the lock of the reconciler', 'IDLE_ROUNDS * this.env.reconcileSeconds)', '0)'],
    ],
  },
];
