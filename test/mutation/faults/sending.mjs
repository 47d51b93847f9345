const SENDING = 'src/modules/webhooks/sending';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const sending = [
  {
    file: `${SENDING}/webhook-send-loop.ts`,
    tests: `${SENDING}/send-loops.service.spec.ts`,
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
    file: `${SENDING}/webhook-send-loop.ts`,
    tests: `${SENDING}/send-loops.service.spec.ts`,
    faults: [
      ['deliveries claimed ahead wait beyond their lease', 'MAX_WAIT_MS = 3000', 'MAX_WAIT_MS = 300_000'],
      ['many are claimed for a slow endpoint', 'FAST_MS = 50', 'FAST_MS = 50_000'],
      [
        'claimed deliveries are not released',
        'this.claimed.splice(0).map((delivery) => this.callbacks.release(delivery))',
        'this.claimed.splice(0).map(() => undefined)',
      ],
    ],
  },
  {
    file: `${SENDING}/delivery-slots.ts`,
    tests: `${SENDING}/delivery-slots.spec.ts`,
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
    file: `src/platform/http/outgoing/address-rules.ts`,
    tests: `src/platform/http/outgoing/address-rules.spec.ts`,
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
    file: `src/platform/http/outgoing/checked-connector.ts`,
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
    file: 'src/modules/webhooks/sending/webhook-send-loop.ts',
    tests: 'src/modules/webhooks/sending/send-loops.service.spec.ts',
    faults: [
      [
        'a failing webhook gets four deliveries at a time',
        'const FAILING_CONCURRENCY = 1;',
        'const FAILING_CONCURRENCY = 4;',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/signed-sender.service.ts',
    tests: 'test/http/resources/webhooks/deliveries.e2e.ts',
    name: 'POST with exactly',
    faults: [
      [
        'a signature has its time in milliseconds',
        'timestampSeconds: Math.floor(Date.now() / 1000)',
        'timestampSeconds: Date.now()',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/delivery-slots.ts',
    tests: 'src/modules/webhooks/sending/delivery-slots.spec.ts',
    faults: [
      [
        'an account may hold a share of all connections instead of the free ones',
        'free * this.accountShare',
        'this.size * this.accountShare',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/send-loops.service.ts',
    tests: 'src/modules/webhooks/sending/send-loops.service.spec.ts',
    faults: [['a process that stops starts new loops', '    this.accepting = false;\n', '']],
  },
  {
    file: 'src/modules/webhooks/sending/webhook-connection.ts',
    tests: 'src/modules/webhooks/sending/webhook-connection.spec.ts',
    faults: [
      [
        'a receiver that thinks for five seconds fails',
        '  connected(): void {\n    clearTimeout(this.connectTimer);',
        '  connected(): void {',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/send-loops.service.ts',
    tests: 'src/modules/webhooks/sending/send-loops.service.spec.ts',
    faults: [
      [
        'a delivery that arrived during a stop is sent again',
        'this.stopping.signal.aborted && outcome.status === null',
        'this.stopping.signal.aborted',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/delivery-slots.ts',
    tests: 'src/modules/webhooks/sending/delivery-slots.spec.ts',
    faults: [['an account with many connections gets the next one', 'held(a) - held(b)', 'held(b) - held(a)']],
  },
  {
    file: 'src/modules/webhooks/webhook-secrets.service.ts',
    tests: 'src/modules/webhooks/webhook-secrets.service.spec.ts',
    faults: [
      ['secrets that no key can read are reported as left', 'if (!unreadable.has(nameOf(stored))) left++;', 'left++;'],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/webhook-sender.service.ts',
    tests: 'test/components/webhooks/webhook-sender.e2e.ts',
    name: 'reports the Retry-After',
    faults: [['Retry-After of a 503 is ignored', 'statusCode === 429 || statusCode === 503', 'statusCode === 429']],
  },
  {
    file: 'src/modules/webhooks/sending/delivery-outcome.ts',
    tests: 'src/modules/webhooks/sending/delivery-outcome.spec.ts',
    faults: [
      ['a response that is cut ends with a broken character', 'decode(bytes, { stream: true })', 'decode(bytes)'],
    ],
  },
  {
    file: 'src/platform/http/outgoing/address-rules.ts',
    tests: 'src/platform/http/outgoing/address-rules.spec.ts',
    faults: [['a webhook may point to a name without a domain', 'labels.length === 1 || PRIVATE_NAME', 'PRIVATE_NAME']],
  },
  {
    file: 'src/platform/http/outgoing/address-rules.ts',
    tests: 'src/platform/http/outgoing/address-rules.spec.ts',
    faults: [
      ['a webhook URL may have a fragment', "  if (url.includes('#')) return 'must not have a fragment';\n", ''],
    ],
  },
  {
    file: 'src/platform/http/outgoing/checked-connector.ts',
    tests: 'test/components/webhooks/host-resolver.e2e.ts',
    name: 'goes by the hosts file first',
    faults: [
      [
        'a name in a comment of the hosts file is resolved',
        "line.replace(/#.*/, '').toLowerCase()",
        'line.toLowerCase()',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/webhook-secrets.service.ts',
    tests: 'src/modules/webhooks/webhook-secrets.service.spec.ts',
    faults: [
      [
        'the rotation of keys overwrites a secret that its owner has just set',
        'this.webhooks.update({ id, encryptedSecret }, { encryptedSecret: reencrypted })',
        'this.webhooks.update({ id }, { encryptedSecret: reencrypted })',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/sending/send-loops.service.ts',
    tests: 'src/modules/webhooks/sending/send-loops.service.spec.ts',
    faults: [
      [
        'due deliveries are looked for by one process of the fleet',
        '() => this.wakeDue(), { everyProcess: true }',
        '() => this.wakeDue()',
      ],
      ['a retry in minutes is woken by no timer', 'MAX_TIMER_MS = 600_000', 'MAX_TIMER_MS = 60_000'],
    ],
  },
  {
    file: 'src/platform/redis/redis-connection.ts',
    tests: 'test/components/queue/job-queue.e2e.ts',
    name: 'takes jobs again',
    faults: [
      ['a consumer waits for hours on a connection that the network has lost', '  socketTimeout: SILENT_MS,\n', ''],
    ],
  },
];
