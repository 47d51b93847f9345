/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const platform = [
  {
    file: 'src/platform/rate-limit/shared-slots.ts',
    tests: 'src/platform/rate-limit/shared-slots.spec.ts',
    faults: [
      [
        'the number of uploads in progress is reported as 0 or 1',
        '    return answer?.[1] ?? this',
        '    return answer?.[0] ?? this',
      ],
    ],
  },
  {
    file: 'src/platform/http/server/connection-limiter.ts',
    tests: 'src/platform/http/server/connection-limiter.spec.ts',
    faults: [
      [
        'one pipelined request more than allowed waits',
        'connection.waiting.length < this.options.limits.maxPipelinedRequests',
        'connection.waiting.length <= this.options.limits.maxPipelinedRequests',
      ],
      [
        'a connection that was refused as too slow is still measured and served',
        '    connection.isEnding = true;\n',
        '',
      ],
    ],
  },
  {
    file: 'src/platform/concurrency/delayed-write.ts',
    tests: 'src/platform/concurrency/delayed-write.spec.ts',
    faults: [
      ['it is written once, and then only at the stop', '    this.timer = undefined;\n', ''],
      ['a flush is followed by a second write', '    clearTimeout(this.timer);\n', ''],
      ['two writes at a time', 'this.writing.then(() => this.write())', 'this.write()'],
    ],
  },
  {
    file: 'src/platform/concurrency/coalesce.ts',
    tests: 'src/platform/concurrency/coalesce.spec.ts',
    faults: [
      [
        'a batch that fails is an unhandled rejection, which ends the process',
        '    inProgress = answers.catch(() => undefined);',
        '    inProgress = answers;',
      ],
    ],
  },
  {
    file: 'src/platform/redis/redis-connection.ts',
    tests: 'src/platform/redis/redis-connection.spec.ts',
    faults: [['a sentinel with an IPv6 address is not reached', '/^\\[?(.+?)\\]?:(\\d+)$/', '/^(.+):(\\d+)$/']],
  },
];
