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
      ['one request too many', 'backlogs[i] > refill * (capacity - 1)', 'backlogs[i] > refill * capacity'],
      ['Redis forgets a bucket before it is full', 'math.ceil(backlogs[i] / 1000) + 1000', '1000'],
      ['Redis never forgets a bucket', ", 'PX', math.ceil(backlogs[i] / 1000) + 1000)", ')'],
      ['a look takes a token', 'tonumber(ARGV[3 * i]) == 0 or ', ''],
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
        "isPlan && caller.principal?.credential === 'access_token'",
        "!isPlan && caller.principal?.credential === 'access_token'",
      ],
      [
        'an empty bucket refuses nobody',
        'if (shown.record.isBlocked) {',
        'if (shown.record.isBlocked && limit === 0) {',
      ],
    ],
  },
  {
    file: 'src/guards/plan-limits.ts',
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
    file: 'src/guards/address-limit.service.ts',
    tests: E2E,
    name: 'OPTIONS',
    faults: [['OPTIONS takes a token', 'this.buckets.peek(', 'this.buckets.increment(']],
  },
];
