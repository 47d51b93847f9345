const DELIVERIES = 'src/modules/webhooks/deliveries';
const SENDING = 'src/modules/webhooks/sending';
const STATES = 'test/components/webhooks/delivery-states.e2e.ts';
const STATES_OF_ATTEMPTS = 'the outcome of an attempt|a webhook that is disabled|a delivery that is released';
const RESOURCE = 'test/http/resources/webhooks/deliveries.e2e.ts';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const deliveries = [
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
        "AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${queueMovesOn('w.account_id')}\n       ORDER BY d.next_attempt_at",
        "AND ${queueMovesOn('w.account_id')}\n       ORDER BY d.next_attempt_at",
      ],
      [
        'an attempt that is not due is made',
        "AND d.status = 'pending' AND d.next_attempt_at <= now()\n         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${queueMovesOn('w.account_id')}\n       ORDER",
        "AND d.status = 'pending'\n         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${queueMovesOn('w.account_id')}\n       ORDER",
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
        "WHERE id = $1 AND lease_token = $2 AND status = 'pending' RETURNING",
        "WHERE id = $1 AND $2::uuid IS NOT NULL AND status = 'pending' RETURNING",
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
        'if (!webhook || !isSaved) return;',
        'if (!webhook) return;',
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
      ['the deliveries of a disabled webhook wait', 'await this.failPending(tx, webhookId);\n      } else', '} else'],
    ],
  },
  {
    file: `${DELIVERIES}/retry-schedule.ts`,
    tests: `${DELIVERIES}/retry-schedule.spec.ts`,
    faults: [
      ['the first gap is left out', 'schedule[attempt - 1]', 'schedule[attempt]'],
      ['the jitter is 30 %', 'JITTER = 0.2', 'JITTER = 0.3'],
      ['Retry-After is obeyed for two hours', 'MAX_RETRY_AFTER_MS = 3_600_000', 'MAX_RETRY_AFTER_MS = 7_200_000'],
      ['Retry-After shortens a gap', 'Math.round(Math.max(gapMs, askedMs))', 'Math.round(askedMs || gapMs)'],
    ],
  },
  {
    file: `${DELIVERIES}/send-loops/webhook-send-loop.ts`,
    tests: `${DELIVERIES}/send-loops/send-loops.service.spec.ts`,
    faults: [
      ['eight deliveries at once to one webhook', 'SEND_CONCURRENCY = 4', 'SEND_CONCURRENCY = 8'],
      [
        'a signal during a claim is lost',
        'else if (found === 0 && !this.wakeUp.isSet) break;',
        'else if (found === 0) break;',
      ],
      ['a slot is never returned', 'slot.release();\n      this.inProgress.delete', 'this.inProgress.delete'],
      [
        'a closed loop starts deliveries',
        'this.isOpen ? (this.reserved.shift() ??',
        'this.reserved ? (this.reserved.shift() ??',
      ],
    ],
  },
  {
    file: `${DELIVERIES}/send-loops/claim-ahead.ts`,
    tests: `${DELIVERIES}/send-loops/send-loops.service.spec.ts`,
    faults: [
      ['deliveries claimed ahead wait beyond their lease', 'MAX_WAIT_MS = 3000', 'MAX_WAIT_MS = 300_000'],
      ['many are claimed for a slow endpoint', 'FAST_MS = 50', 'FAST_MS = 50_000'],
      [
        'claimed deliveries are not released',
        '.map((delivery) => this.callbacks.release(delivery))',
        '.map(() => undefined)',
      ],
    ],
  },
  {
    file: `${DELIVERIES}/send-loops/delivery-slots.ts`,
    tests: `${DELIVERIES}/send-loops/delivery-slots.spec.ts`,
    faults: [
      ['a slot can be released twice', 'if (!isHeld) return;', ''],
      ['one account may hold every connection', 'ACCOUNT_SHARE = 1 / 16', 'ACCOUNT_SHARE = 1'],
      ['one account may hold every connection to a host', 'ACCOUNT_SHARE_OF_HOST = 1 / 8', 'ACCOUNT_SHARE_OF_HOST = 1'],
      ['failing webhooks may hold every connection', 'FAILING_SHARE = 1 / 4', 'FAILING_SHARE = 1'],
      ['a webhook that waits is forgotten at a stop', "signal.addEventListener('abort', cancel);", ''],
      ['a free slot wakes nobody', 'this.forgetUnused(host);\n        this.schedule();', 'this.forgetUnused(host);'],
    ],
  },
  {
    file: `${SENDING}/special-ranges.ts`,
    tests: `${SENDING}/address-rules.spec.ts`,
    faults: [
      ['a range is left out', "  '192.31.196.0/24',", ' '],
      ['half of a range is left out', "'172.16.0.0/12'", "'172.16.0.0/13'"],
      ['an IPv6 range is too long', "'2001:db8::/32'", "'2001:db8::/31'"],
      ['AS112 is left out', "'2620:4f:8000::/48',", ''],
      ['more of IPv6 is public', "GLOBAL_IPV6_RANGE = '2000::/3'", "GLOBAL_IPV6_RANGE = '2000::/2'"],
    ],
  },
  {
    file: `${SENDING}/webhook-connection.ts`,
    tests: 'test/components/webhooks/webhook-sender.e2e.ts',
    name: 'deliveries that follow each other',
    faults: [
      ['a kept connection never grows too old', ' && Date.now() - this.createdAt < MAX_AGE_MS;', ';'],
      ['a kept connection serves any host', 'if (connection.origin !== origin) continue;', ''],
    ],
  },
  {
    file: `${SENDING}/checked-connector.ts`,
    tests: 'test/components/webhooks/webhook-addresses.e2e.ts',
    faults: [
      [
        'one public address makes the others good',
        '!ips.every((ip) => mayConnect(ip, allowed))',
        '!ips.some((ip) => mayConnect(ip, allowed))',
      ],
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
    file: 'src/modules/webhooks/delivery-log/redeliveries/redeliveries.queries.ts',
    tests: 'test/http/resources/webhooks/redeliveries.e2e.ts',
    name: 'is tried as often as before',
    faults: [
      [
        'a redelivery goes on with the schedule of before',
        'next_attempt_at = now(), attempts_before = d.attempts,',
        'next_attempt_at = now(),',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/delivery-log/test-call/test-calls.service.ts',
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
    file: 'src/modules/webhooks/deliveries/send-loops/webhook-send-loop.ts',
    tests: 'src/modules/webhooks/deliveries/send-loops/send-loops.service.spec.ts',
    faults: [
      [
        'a failing webhook gets four deliveries at a time',
        'const FAILING_CONCURRENCY = 1;',
        'const FAILING_CONCURRENCY = 4;',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/deliveries/deliveries.service.ts',
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
    file: 'src/modules/webhooks/events/webhook-events.queries.ts',
    tests: 'test/http/resources/users.e2e.ts',
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
    file: 'src/modules/webhooks/delivery-log/delivery-log.queries.ts',
    tests: 'test/http/resources/webhooks/delivery-log.e2e.ts',
    name: 'are exact',
    faults: [
      [
        'the last day of a filter of deliveries is left out',
        "::date + 1)::timestamp AT TIME ZONE 'UTC'`);",
        "::date)::timestamp AT TIME ZONE 'UTC'`);",
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
];
