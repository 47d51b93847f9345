/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const counters = [
  {
    file: 'src/modules/recordings/usage-counters/usage-counters.queries.ts',
    tests: 'test/http/counts.e2e.ts',
    name: 'frees the storage of the month of creation',
    faults: [
      [
        'changes count on their own day instead of that of the upload',
        '    [accountId, createdAt, status, listed,',
        '    [accountId, new Date(), status, listed,',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/counter-audit.service.ts',
    tests: 'test/components/commands/counter-commands.e2e.ts',
    name: 'when two rebuild',
    faults: [
      [
        'two rebuilds of the counters at the same time both add what is missing',
        '      await lockByName(tx, `rebuild counters:${accountId}`);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-breakdown.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'a page at a time',
    faults: [
      [
        'a page of usage begins with the last key of the page before',
        'day BETWEEN $3::date AND $4::date AND (value > $5 OR $6)\n       GROUP BY',
        'day BETWEEN $3::date AND $4::date AND (value >= $5 OR $6)\n       GROUP BY',
      ],
    ],
  },
  {
    file: 'src/modules/users/users.service.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: 'what an erased one has used',
    faults: [
      [
        'the usage goes on naming an end user who was erased',
        'if (!hasHeld) await forgetUsage();',
        'if (hasHeld) await forgetUsage();',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/usage-counters/usage-counters.queries.ts',
    tests: 'test/http/resources/account.e2e.ts',
    name: '400 days',
    faults: [
      [
        'the usage of keys is deleted after 40 days, of which 365 can be asked for',
        'const KEPT_DAYS = 400;',
        'const KEPT_DAYS = 40;',
      ],
    ],
  },
  {
    file: 'src/modules/account/request-errors.service.ts',
    tests: 'src/modules/account/request-errors.service.spec.ts',
    faults: [
      [
        'the messages of errors are kept with the secrets that clients misplaced',
        'message: cleaned(message, MAX_MESSAGE) };',
        'message: message.slice(0, MAX_MESSAGE) };',
      ],
    ],
  },
];
