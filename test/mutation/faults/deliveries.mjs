const DELIVERIES = 'src/modules/webhooks/deliveries';
const STATES = 'test/components/webhooks/delivery-states.e2e.ts';
const STATES_OF_ATTEMPTS = 'the outcome of an attempt|a webhook that is disabled|a delivery that is released';
const RESOURCE = 'test/http/resources/webhooks/deliveries.e2e.ts';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const deliveries = [
  {
    file: `${DELIVERIES}/deliveries.queries.ts`,
    tests: 'test/components/operator-metrics.e2e.ts',
    name: 'the delivery that waits|a claim',
    faults: [
      ['a failing receiver keeps the service waiting', 'AND w.failing_since IS NULL AND', 'AND'],
      [
        'a slow receiver keeps the service waiting',
        '\n       AND (head.lease_until IS NULL OR head.lease_until < now())`',
        '`',
      ],
      [
        'the newest delivery is the one that waits longest',
        'ORDER BY d.next_attempt_at LIMIT 1) head',
        'ORDER BY d.next_attempt_at DESC LIMIT 1) head',
      ],
      ['no delivery is taken over', 'd.lease_token IS NOT NULL AS taken_over', 'false AS taken_over'],
    ],
  },
  {
    file: `${DELIVERIES}/deliveries.queries.ts`,
    tests: STATES,
    name: STATES_OF_ATTEMPTS,
    faults: [
      ['a success is recorded without the lease', 'd.id = s.id AND d.lease_token = s.lease_token', 'd.id = s.id'],
      [
        'deliveries of a disabled webhook are claimed',
        "d.webhook_id AND w.status = 'active'\n       WHERE d.webhook_id = $1",
        'd.webhook_id\n       WHERE d.webhook_id = $1',
      ],
      [
        'a leased delivery is claimed again',
        "AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${accountNotOnHold('w.account_id')}\n       ORDER BY d.next_attempt_at",
        "AND ${accountNotOnHold('w.account_id')}\n       ORDER BY d.next_attempt_at",
      ],
      [
        'an attempt that is not due is made',
        "AND d.status = 'pending' AND d.next_attempt_at <= now()\n         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${accountNotOnHold('w.account_id')}\n       ORDER",
        "AND d.status = 'pending'\n         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${accountNotOnHold('w.account_id')}\n       ORDER",
      ],
    ],
  },
  {
    file: `${DELIVERIES}/deliveries.queries.ts`,
    tests: STATES,
    name: STATES_OF_ATTEMPTS,
    faults: [
      [
        'a failure is recorded without the lease',
        "WHERE d.id = $1 AND d.lease_token = $2 AND ${isPending('d')} RETURNING",
        "WHERE d.id = $1 AND $2::uuid IS NOT NULL AND ${isPending('d')} RETURNING",
      ],
    ],
  },
  {
    file: `${DELIVERIES}/deliveries.service.ts`,
    tests: STATES,
    name: STATES_OF_ATTEMPTS,
    faults: [
      [
        'a delivery is released without the lease',
        "{ id, leaseToken, status: 'pending' },\n      { leaseToken: null",
        "{ id, status: 'pending' },\n      { leaseToken: null",
      ],
      ['a released delivery has used up an attempt', "() => 'attempts - 1'", "() => 'attempts'"],
      [
        'a failure without the lease counts against the webhook',
        'if (!webhook || !isSaved) return null;',
        'if (!webhook) return null;',
      ],
    ],
  },
  {
    file: `${DELIVERIES}/deliveries.service.ts`,
    tests: RESOURCE,
    name: 'only failures for 5 days|410 Gone',
    faults: [
      ['410 disables nothing', 'GONE = 410', 'GONE = 411'],
      ['nine failures disable a webhook', 'MAX_CONSECUTIVE_FAILURES = 10', 'MAX_CONSECUTIVE_FAILURES = 9'],
      ['four days disable a webhook', 'MAX_FAILING_SECONDS = 5 * 86_400', 'MAX_FAILING_SECONDS = 4 * 86_400'],
      [
        'the deliveries of a disabled webhook wait',
        '      await this.failPending(tx, webhookId);\n      return null;',
        '      return null;',
      ],
    ],
  },
  {
    file: `${DELIVERIES}/deliveries.service.ts`,
    tests: `${DELIVERIES}/deliveries.service.spec.ts`,
    faults: [
      ['the first gap is left out', 'schedule[attempt - 1]', 'schedule[attempt]'],
      ['the jitter is 30 %', 'JITTER = 0.2', 'JITTER = 0.3'],
      ['Retry-After is obeyed for two hours', 'MAX_RETRY_AFTER_MS = 3_600_000', 'MAX_RETRY_AFTER_MS = 7_200_000'],
      ['Retry-After shortens a gap', 'Math.round(Math.max(gapMs, askedMs))', 'Math.round(askedMs || gapMs)'],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'a success in between',
    faults: [
      [
        'a success leaves the number of failures in a row',
        '      { failingSince: null, consecutiveFailures: 0 },\n',
        '      { failingSince: null },\n',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/webhooks.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'enabling it again',
    faults: [
      [
        'enabling a webhook keeps its failures',
        "          ...(status === 'active' && { failingSince: null, consecutiveFailures: 0 }),\n",
        '',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/redeliveries.queries.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'is tried as often as before',
    faults: [['a redelivery goes on with the schedule of before', 'attempts_before = d.attempts, ', '']],
  },
  {
    file: 'src/modules/webhooks/deliveries/test-calls.service.ts',
    tests: 'test/http/resources/webhooks/delivery-log.e2e.ts',
    name: 'is signed with the previous',
    faults: [
      [
        'a test is signed with a previous secret whose time is over',
        'previousSecretUntil !== null && previousSecretUntil > new Date()',
        'previousSecretUntil !== null',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/removed-webhooks.service.ts',
    tests: 'test/components/webhooks/delivery-states.e2e.ts',
    name: 'is gone at once',
    faults: [
      [
        'deliveries of a deleted webhook beyond the first batch stay',
        '    if (deleted === BATCH) await tx.manager.insert(RemovedWebhook, { webhookId });\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/webhook-events.service.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'deletes the recordings in every state',
    faults: [
      [
        'answers to attempts that failed keep what names an erased user',
        'UPDATE delivery_attempts a SET response = NULL FROM sent',
        'UPDATE delivery_attempts a SET response = response FROM sent',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/delivery-log.service.ts',
    tests: 'test/http/resources/webhooks/delivery-log.e2e.ts',
    name: 'are exact',
    faults: [
      [
        'the last day of a filter of deliveries is left out',
        "conditions.push(untilDay('d.created_at', place(to)))",
        "conditions.push(`d.created_at < ${place(to)}::date::timestamp AT TIME ZONE 'UTC'`)",
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.queries.ts',
    tests: 'test/components/webhooks/delivery-states.e2e.ts',
    name: 'due for a shorter time',
    faults: [
      [
        'claims the deliveries that are due last',
        'ORDER BY d.next_attempt_at LIMIT $2 FOR UPDATE OF d SKIP LOCKED)',
        'ORDER BY d.next_attempt_at DESC LIMIT $2 FOR UPDATE OF d SKIP LOCKED)',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/webhooks.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'signs beside the previous one',
    faults: [['the same secret given again becomes the previous one', '    if (present === secret) return {};\n', '']],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.queries.ts',
    tests: 'test/http/resources/webhooks/delivery-log.e2e.ts',
    name: 'keeps the last 30',
    faults: [['31 attempts are kept', 'a.number <= f.attempts', 'a.number < f.attempts']],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.queries.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'signs',
    faults: [
      [
        'the previous secret signs for ever',
        'CASE WHEN w.previous_secret_until > now() THEN',
        'CASE WHEN w.previous_secret_until IS NOT NULL THEN',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'not after',
    faults: [
      [
        'each failure restarts the time of failing',
        "...(webhook.failingSeconds === null && { failingSince: () => 'now()' }),",
        "failingSince: () => 'now()',",
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'disabled',
    faults: [
      [
        'a disabled webhook gets deliveries of new events',
        "const active = { accountId, status: 'active' as const }",
        'const active = { accountId }',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.queries.ts',
    tests: 'test/components/webhooks/delivery-states.e2e.ts',
    name: 'replaces the error',
    faults: [
      [
        'a delivered event still shows the error of an earlier attempt',
        'last_error = NULL,\n       last_error_kind = NULL, last_duration_ms',
        'last_duration_ms',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/redeliveries.queries.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'takes the days',
    faults: [
      ['the last day is left out of a redelivery of many', '(($5::date + 1)::timestamp', '(($5::date)::timestamp'],
      ['events from before the webhook count as missed', 'greatest($3::timestamptz, w.created_at)', '$3::timestamptz'],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/redeliveries.service.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'disabled',
    faults: [
      [
        'many are redelivered to a disabled webhook',
        "      if (webhook.status !== 'active') throw webhookDisabled();\n      if (!(await insertRedelivery",
        '      if (!(await insertRedelivery',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.queries.ts',
    tests: 'test/components/webhooks/delivery-states.e2e.ts',
    name: 'is not claimed while',
    faults: [
      [
        'a delivery is lost with the process that had claimed it',
        "AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${accountNotOnHold('w.account_id')}\n       ORDER",
        "AND d.lease_until IS NULL AND ${accountNotOnHold('w.account_id')}\n       ORDER",
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/redeliveries.queries.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'refuses a second while',
    faults: [
      [
        'a redelivery of missed events ends after a thousand',
        'eventIds.length < count && scanned < SCANNED',
        'eventIds.length < count || scanned < SCANNED',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/redeliveries.queries.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'loses nothing while the process',
    faults: [
      [
        'a redelivery of what was never attempted logs an attempt 0',
        "       FROM chosen WHERE status = 'delivered' ON CONFLICT DO NOTHING",
        '       FROM chosen ON CONFLICT DO NOTHING',
      ],
    ],
  },
];
