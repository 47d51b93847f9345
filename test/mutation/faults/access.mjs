/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const access = [
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'src/guards/authenticator.service.spec.ts',
    faults: [
      [
        'an access token that is not valid is ignored beside a key pair',
        '    if (token !== null && !endUser && !sentToken) return null;\n',
        '',
      ],
    ],
  },
  {
    file: 'src/access/credential-versions.service.ts',
    tests: 'test/fleet/credential-cache.e2e.ts',
    name: 'read that began before',
    faults: [['an older credential version replaces a newer one', 'if version <= copy then return copy end\n', '']],
  },
  {
    file: 'src/modules/access-tokens/access-tokens.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'refuses what was issued before',
    faults: [
      ['a token that is created right after others were voided is void', 'version >= validFrom', 'version > validFrom'],
    ],
  },
  {
    file: 'src/modules/api-keys/api-keys.service.ts',
    tests: 'src/modules/api-keys/api-keys.service.spec.ts',
    faults: [
      [
        'a key without an expiry outlives the key that creates it',
        '(expiresAt === null || expiresAt > creator.expiresAt)',
        '(expiresAt !== null && expiresAt > creator.expiresAt)',
      ],
    ],
  },
  {
    file: 'src/modules/api-keys/api-key-credentials.service.ts',
    tests: 'src/modules/api-keys/api-key-credentials.service.spec.ts',
    faults: [['a stop loses the last uses of keys', '    await this.usesWrite.flush();', '']],
  },
  {
    file: 'src/modules/api-keys/api-key-credentials.service.ts',
    tests: 'src/modules/api-keys/api-key-credentials.service.spec.ts',
    faults: [['only the first secrets are hashed anew', '    this.rehashing = null;\n', '']],
  },
  {
    file: 'src/guards/credentials.guard.ts',
    tests: 'src/guards/credentials.guard.spec.ts',
    faults: [
      [
        'the log names the addresses with the fewest refusals',
        '.toSorted(([, a], [, b]) => b - a)',
        '.toSorted(([, a], [, b]) => a - b)',
      ],
    ],
  },
  {
    file: 'src/modules/access-tokens/access-tokens.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'refuses what was issued before',
    faults: [
      [
        'other processes go on taking tokens that were voided',
        '    await this.versions.change(accountId, async (tx) => {',
        '    await this.database.transact(async (tx) => {',
      ],
    ],
  },
  {
    file: 'src/modules/api-keys/api-keys.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'is walked by',
    faults: [
      ['the second page of API keys begins one key behind the first', '      skip: page * limit,', '      skip: page,'],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'src/guards/authenticator.service.spec.ts',
    faults: [
      [
        'the time of a fresh read is taken after it, so that a version that is out of date is confirmed',
        '      const asOf = fresh ? await this.versions.readTime() : null;\n      const caller = await this.identify(sent, fresh, address);\n      if (!caller) return null;\n',
        '      const caller = await this.identify(sent, fresh, address);\n      if (!caller) return null;\n      const asOf = fresh ? await this.versions.readTime() : null;\n',
      ],
    ],
  },
  {
    file: 'src/platform/secrets.service.ts',
    tests: 'src/platform/secrets.service.spec.ts',
    faults: [
      [
        'access tokens of the previous SECRET_KEY are refused',
        '    return (this.keysOf(keyId) ?? this.current).tokens;',
        '    return this.current.tokens;',
      ],
    ],
  },
];
