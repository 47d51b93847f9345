/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const guards = [
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'src/guards/authenticator.service.spec.ts',
    faults: [
      ['a read is shared for ever', 'if (current && Date.now() - current.startedAt < SHARED_READ_MS)', 'if (current)'],
      ['a read that failed stays shared', 'if (this.reads.get(id) === read) this.reads.delete(id);', ''],
      ['a slow read replaces a later one', 'if (cached && cached.version > value.version) return;', ''],
      ['an expired key is still remembered', 'this.values.set(id, value, { ttl })', 'this.values.set(id, value)'],
      ['a key that has expired is stored', 'if (ttl === undefined || ttl > 0)', 'if (id)'],
      ['what is gone is kept', 'this.values.delete(id);\n      return;', 'return;'],
      ['a fresh read is answered from the cache', 'fresh ? undefined : this.values.get(id)', 'this.values.get(id)'],
      ['it grows without bound', '{ max: MAX_ENTRIES }', '{ max: MAX_ENTRIES * 10 }'],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    faults: [
      [
        'token and key pair may belong to different accounts',
        '(token && token.accountId !== accountId)',
        '(token === undefined)',
      ],
      ['a voided token is accepted', 'grant && this.accessTokens.isGranted(endUser, grant) ? grant : null', 'grant'],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    faults: [
      [
        'half a key pair is ignored beside a token',
        "if (typeof key !== 'string' || typeof secret !== 'string') return null;",
        "if (typeof key !== 'string' || typeof secret !== 'string') return { keyPair, token };",
      ],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'as Authorization',
    faults: [
      [
        'a pair as Bearer wins over another in the headers',
        'keyPair && (keyPair.key !== key || keyPair.secret !== secret) ? null :',
        'keyPair ? { keyPair, token } :',
      ],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/rate-limit.e2e.ts',
    name: 'every failed authentication takes one',
    faults: [
      [
        'any secret opens a key',
        'credential && this.apiKeys.verifySecret(credential, secret) ? credential : null',
        'credential',
      ],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/fleet/credential-cache.e2e.ts',
    name: 'very next request|suspension and limits',
    faults: [
      [
        'a cached credential is used without a look at its version',
        ': await this.versions.isCurrent(accountId, version);',
        ': true;',
      ],
    ],
  },
  {
    file: 'src/access/check-access.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    faults: [
      [
        'an access token may do anything',
        'if (allowAccessToken || (endUserRight && principal.endUserRights.includes(endUserRight))) return;',
        'if (scope) return;',
      ],
      ['a suspended account is served', 'if (principal.suspended) throw new AccountSuspendedError();', ''],
    ],
  },
  {
    file: 'src/access/check-access.ts',
    tests: 'test/http/operations.e2e.ts',
    faults: [
      ['the scope is not compared', 'if (missing !== undefined) throw new PermissionError(missing);', ''],
      [
        'the scope is asked for before the status of the account and the credentials',
        'if (!principal) throw new AuthenticationError();',
        'if (!principal) throw new PermissionError(scope);',
      ],
    ],
  },
  {
    file: 'src/guards/scope.guard.ts',
    tests: 'test/http/operations.e2e.ts',
    name: 'must be declared',
    faults: [['a handler without a rule is open to all', 'if (undeclared.length > 0)', 'if (undeclared.length > 99)']],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'is accepted with a token alone',
    faults: [
      [
        'an upload with an access token does not name the key behind it',
        'keyId: apiKey ? apiKey.id : (endUser?.keyId ?? null),',
        'keyId: apiKey?.id ?? null,',
      ],
    ],
  },
  {
    file: 'src/modules/access-tokens/access-tokens.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'refuses what was issued before',
    faults: [
      [
        'voiding the tokens of a user a second time changes nothing',
        'SET valid_from = excluded.valid_from, voided_at',
        'SET voided_at',
      ],
    ],
  },
  {
    file: 'src/access/accounts.queries.ts',
    tests: 'test/http/resources/webhooks/webhooks-and-events.e2e.ts',
    name: 'ends within 5 s',
    faults: [
      [
        'the streams of a suspended account stay open',
        "AND $2 = ANY (k.scopes) AND a.status = 'active'",
        'AND $2 = ANY (k.scopes)',
      ],
    ],
  },
  {
    file: 'src/access/accounts.queries.ts',
    tests: 'test/http/resources/audio.e2e.ts',
    name: 'ends with the recording, with',
    faults: [
      [
        'a link that an expired key has signed still works',
        'AND (k.expires_at IS NULL OR k.expires_at > now())\n     WHERE a.id = $1',
        'AND true\n     WHERE a.id = $1',
      ],
    ],
  },
  {
    file: 'src/modules/api-keys/api-keys.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'keeps an earlier one',
    faults: [
      ['a key outlives the one that made it', 'expiresAt > creator.expiresAt)', 'expiresAt < creator.expiresAt)'],
    ],
  },
  {
    file: 'src/modules/api-keys/api-keys.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'revoked for good',
    faults: [['a key can be revoked twice', 'JOIN tree USING (id) WHERE k.revoked_at IS NULL', 'JOIN tree USING (id)']],
  },
  {
    file: 'src/modules/api-keys/api-key-credentials.service.ts',
    tests: 'src/modules/api-keys/api-key-credentials.service.spec.ts',
    faults: [
      [
        'uses that could not be written are forgotten when the key is used again',
        'count: count + (since?.count ?? 0)',
        'count: since?.count ?? count',
      ],
    ],
  },
  {
    file: 'src/modules/api-keys/api-key.entity.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'shows active and expired',
    faults: [
      ['keys with an expiry to come are not active', '      { revokedAt: IsNull(), expiresAt: MoreThan(now) },\n', ''],
    ],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'is counted|counts what',
    faults: [
      [
        'the use of a key is not counted',
        'if (caller?.apiKey && caller.principal.refusedAddress === null) this.apiKeys.countUse(caller.apiKey.id);',
        '',
      ],
    ],
  },
  {
    file: 'src/access/credential-versions.service.ts',
    tests: 'test/fleet/credential-cache.e2e.ts',
    name: 'claim that reaches',
    faults: [
      [
        'a late read of credentials counts as new',
        'await this.raise(accountId, version, asOf);',
        'await this.raise(accountId, version, 0);',
      ],
    ],
  },
  {
    file: 'src/access/check-access.ts',
    tests: 'test/http/operations.e2e.ts',
    name: 'is refused before',
    faults: [['the second scope of an operation is not asked for', '[scope, ...alsoScopes].find', '[scope].find']],
  },
  {
    file: 'src/guards/authenticator.service.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    name: 'beside the same pair',
    faults: [
      [
        'a key pair may differ in one half between header and Bearer',
        'keyPair.key !== key || keyPair.secret !== secret',
        'keyPair.key !== key && keyPair.secret !== secret',
      ],
    ],
  },
  {
    file: 'src/guards/plan-throttler.guard.ts',
    tests: 'test/http/rate-limit.e2e.ts',
    name: 'D35',
    faults: [
      [
        'each access token has a bucket instead of each end user',
        "hash('sha256', principal.userId ?? '',",
        "hash('sha256', principal.tokenId ?? '',",
      ],
    ],
  },
  {
    file: 'src/access/check-access.ts',
    tests: 'test/http/resources/credentials.e2e.ts',
    faults: [
      [
        'a token of a suspended account still uploads',
        'if (principal.suspended) throw',
        "if (principal.suspended && principal.credential !== 'access_token') throw",
      ],
    ],
  },
  {
    file: 'src/guards/credentials.guard.ts',
    tests: 'src/guards/credentials.guard.spec.ts',
    faults: [['the addresses of a minute are counted in the next, too', '    this.addresses = new Map();\n  }', '  }']],
  },
  {
    file: 'src/platform/http/server/request-line.ts',
    tests: 'test/http/errors.e2e.ts',
    name: 'unknown path',
    faults: [
      ['/v1 itself is neither authenticated nor limited', 'path === API_ROOT || path.startsWith', 'path.startsWith'],
    ],
  },
];
