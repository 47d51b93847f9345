const UNIT = 'src/platform/rate-limit/token-bucket.spec.ts';
const E2E = 'test/http/rate-limit.e2e.ts';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const limiter = [
  {
    file: 'src/platform/rate-limit/token-bucket.ts',
    tests: UNIT,
    faults: [
      [
        'the time of a token is rounded down',
        'Math.ceil((ttl * 1000) / capacity',
        'Math.floor((ttl * 1000) / capacity',
      ],
      ['a token is added where the time is whole', '- ROUNDING_ERROR)', '+ ROUNDING_ERROR)'],
      ['one request too many', 'backlog <= refill * (capacity - 1);', 'backlog <= refill * capacity;'],
      ['a request too few', 'backlog <= refill * (capacity - 1);', 'backlog < refill * (capacity - 1);'],
      ['Retry-After may be 0', 'Math.max(1, Math.ceil(untilNext / 1_000_000))', 'Math.ceil(untilNext / 1_000_000)'],
      ['half a token counts', 'Math.floor(capacity - backlog / refill)', 'Math.round(capacity - backlog / refill)'],
      [
        'X-RateLimit-Reset is rounded down',
        'Math.ceil((now + backlog) / 1_000_000)',
        'Math.floor((now + backlog) / 1_000_000)',
      ],
      [
        'a token is taken from one bucket though the other is empty',
        'named.every(({ bucket }, i)',
        'named.some(({ bucket }, i)',
      ],
      ['a look takes a token', 'const isTaken = cost === 1 && named', 'const isTaken = named'],
      [
        'buckets that are full are never removed',
        'if (fullAt > now && this.fullAt.size <= MAX_LOCAL_BUCKETS) return;',
        'return;',
      ],
      ['the number of buckets has no bound', ' && this.fullAt.size <= MAX_LOCAL_BUCKETS) return;', ') return;'],
      ['an old bucket hides those that are full', 'this.fullAt.delete(name);\n    this.fullAt.set', 'this.fullAt.set'],
    ],
  },
  {
    file: 'src/platform/rate-limit/token-bucket.lua',
    tests: E2E,
    name: 'the script in Redis',
    faults: [
      ['a request too many', 'math.floor(capacity - backlogs', 'math.ceil(capacity - backlogs'],
      ['a request too few', 'math.floor(capacity - backlogs', 'math.ceil(capacity - 1 - backlogs'],
      ['Redis forgets a bucket before it is full', 'math.ceil(backlogs[i] / 1000) + 1000', '1000'],
      ['Redis never forgets a bucket', ", 'PX', math.ceil(backlogs[i] / 1000) + 1000)", ')'],
      ['a look takes a token', 'tonumber(ARGV[#ARGV])', 'math.max(1, tonumber(ARGV[#ARGV]))'],
      ['several tokens count as one', 'backlogs[i] + taken * ', 'backlogs[i] + '],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: E2E,
    name: 'a quarter of the plan|all of them together|its address|OPTIONS|headers|leave the account|address’s figures',
    faults: [
      [
        'an account takes from the bucket of its address',
        'principal ? principalTracker(principal) : addressTracker(request)',
        'addressTracker(request)',
      ],
      [
        'the bucket that is not empty is shown',
        'return ownRecord.isBlocked ? own : shared;',
        'return ownRecord.isBlocked ? shared : own;',
      ],
      [
        'an end user takes from no bucket of its own',
        "    if (principal?.credential === 'access_token') return await this.takeAsEndUser(principal, plan);\n",
        '',
      ],
      [
        'an empty bucket refuses nobody',
        'if (shown.record.isBlocked) {',
        'if (shown.record.isBlocked && limit === 0) {',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: E2E,
    name: 'a quarter of the plan|all of them together|Remaining|IPv6|leave the account',
    faults: [
      ['an end user may use the whole plan', 'Math.floor(burst / 4)', 'Math.floor(burst)'],
      [
        'tokens take from the bucket of the key pairs',
        "return credential === 'access_token' ? ",
        "return credential === 'nothing' ? ",
      ],
      [
        'X-RateLimit-Remaining counts the burst',
        'Math.floor(record.tokensLeft - headroom)',
        'Math.floor(record.tokensLeft)',
      ],
      ['every IPv6 address has a bucket', "`address:${normalizeIp(ip ?? 'unknown')}`", '`address:${ip}`'],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: E2E,
    name: 'OPTIONS',
    faults: [['OPTIONS takes a token', 'this.buckets.peek(', 'this.buckets.increment(']],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [
      [
        'of two empty buckets the one that has a token sooner tells when to come again',
        'ownRecord.timeToBlockExpire >= sharedRecord.timeToBlockExpire',
        'ownRecord.timeToBlockExpire <= sharedRecord.timeToBlockExpire',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [['the rate of an end user is rounded down', 'rate: rate / 4,', 'rate: Math.floor(rate / 4),']],
  },
  {
    file: 'src/guards/credentials.guard.ts',
    tests: 'test/http/errors.e2e.ts',
    name: 'valid credentials are 503',
    faults: [
      [
        'a public path is 503 when credentials cannot be checked',
        '      if (isPublic(this.rules.of(context))) return true;\n',
        '',
      ],
    ],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.lua',
    tests: 'test/http/quotas.e2e.ts',
    name: 'the slots of a process',
    faults: [
      [
        'slots of dead processes are taken as long as others are renewed',
        "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)\n",
        '',
      ],
    ],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.ts',
    tests: 'src/platform/rate-limit/shared-slots.spec.ts',
    faults: [
      ['slots are renewed after they have expired', 'const RENEW_MS = SLOT_MS / 3;', 'const RENEW_MS = SLOT_MS * 3;'],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'test/http/extensions/throttle-decorators.e2e.ts',
    name: '@Throttle gives',
    faults: [
      [
        'accounts share the bucket of a route with its own limit',
        'generateKey(context, tracker, ',
        "generateKey(context, 'all', ",
      ],
    ],
  },
  {
    file: 'src/platform/rate-limit/token-bucket.ts',
    tests: 'src/platform/rate-limit/token-bucket.spec.ts',
    faults: [
      [
        'the time of a token is rounded to the nearest',
        'refill: Math.ceil((ttl * 1000)',
        'refill: Math.round((ttl * 1000)',
      ],
    ],
  },
  {
    file: 'src/platform/rate-limit/token-bucket.storage.ts',
    tests: 'src/platform/rate-limit/token-bucket.storage.spec.ts',
    faults: [
      ['both buckets count as empty when one is', 'index < taken || hasToken(bucket, backlog)', 'index < taken'],
      ['a request that shares a command sees what others took after it', '- takenLater * bucket.refill', ''],
      ['requests of different sizes share a bucket', ' ${bucket.capacity} ${bucket.refill}`', '`'],
      ['one token is taken for all that share a command', 'this.send(named, requests.length)', 'this.send(named, 1)'],
    ],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [['one slot too many without Redis', 'own.size < limit ? 1', 'own.size <= limit ? 1']],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'test/http/extensions/throttle-decorators.e2e.ts',
    name: 'only the time',
    faults: [
      [
        'a route with a limit of the size of the plan shares its bucket',
        'limit === size.limit && ttl === size.ttl',
        'limit === size.limit',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [['the burst of an end user is rounded up', 'Math.max(1, Math.floor(burst / 4))', 'Math.ceil(burst / 4)']],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.ts',
    tests: 'test/http/quotas.e2e.ts',
    name: 'long upload',
    faults: [['the slots of a long upload are lost with their key', "\nredis.call('PEXPIRE', KEYS[1], ARGV[1])`", '`']],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [
      ['a small plan leaves its end users no request', 'Math.max(1, Math.floor(burst / 4))', 'Math.floor(burst / 4)'],
    ],
  },
  {
    file: 'src/platform/rate-limit/token-bucket.ts',
    tests: 'src/platform/rate-limit/token-bucket.spec.ts',
    faults: [
      [
        'a refused client is told to try again too soon',
        'backlog - refill * (capacity - 1);\n  return {',
        'backlog - refill * capacity;\n  return {',
      ],
    ],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.ts',
    tests: 'src/platform/rate-limit/shared-slots.spec.ts',
    faults: [
      [
        'a slot stays taken in Redis after its use',
        '    void this.redis.tryCommand((client) => client.zrem(this.keyOf(accountId), slot));\n',
        '',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [['a limit below one a minute is shown as none', 'Math.max(1, Math.floor(limit))', 'Math.floor(limit)']],
  },
  {
    file: 'src/platform/rate-limit/shared-slots.lua',
    tests: 'test/http/quotas.e2e.ts',
    name: 'one too many in any',
    faults: [['an account has one slot too many', 'if used >= tonumber(ARGV[1])', 'if used > tonumber(ARGV[1])']],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [
      [
        'the headers show the bucket with more requests left',
        'remaining(own) <= remaining(shared) ? own',
        'remaining(own) >= remaining(shared) ? own',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [
      [
        'the bucket of an end user is refilled by the burst of the plan instead of its rate',
        '  rate: rate / 4,',
        '  rate: burst / 4,',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'src/guards/plan-throttler.guard.spec.ts',
    faults: [
      [
        'a refused client is told to wait until its bucket is full',
        'new RateLimitError(detail.timeToBlockExpire)',
        'new RateLimitError(detail.timeToExpire)',
      ],
    ],
  },
];
