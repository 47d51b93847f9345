/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const uploads = [
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [['what fills a quota exactly is refused', 'used + added <= limit', 'used + added < limit']],
  },
  {
    file: 'src/modules/recordings/upload/upload-form.ts',
    tests: 'test/http/input/bad-uploads.e2e.ts',
    name: 'takes exactly',
    faults: [
      [
        'a file of exactly the maximum is refused',
        'file.sizeBytes + chunk.length > MAX_FILE_BYTES',
        'file.sizeBytes + chunk.length >= MAX_FILE_BYTES',
      ],
    ],
  },
  {
    file: 'src/platform/storage/file-system.ts',
    tests: 'test/http/resources/audio.e2e.ts',
    name: 'is not mounted, or',
    faults: [
      ['a read past the end leaves the file open', '    await handle.close();\n    throw error;', '    throw error;'],
    ],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [
      ['uploads of two processes exceed a quota', '  await lockQuotas(tx, accountIds);\n', ''],
      ['uploads of one process exceed a quota', 'if (usage) usages.set(accountId, withDemand(usage, demand));', ''],
      [
        'a retry exceeds a quota',
        'lockUsage(tx, [accountId], monthStart(new Date()));\n    this.refuse(',
        'readQuotaUsage(tx, [accountId], monthStart(new Date())).then(([own]) => new Map([[accountId, own]]));\n    this.refuse(',
      ],
    ],
  },
  {
    file: 'src/platform/storage/object-removals.service.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [['a reservation ends before an upload may', 'RESERVED_SECONDS = 3600', 'RESERVED_SECONDS = 36']],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'test/http/quotas.e2e.ts',
    name: 'storage hangs',
    faults: [['bytes under way are not counted', 'u."storedBytes" + r.bytes', 'u."storedBytes"']],
  },
  {
    file: 'src/platform/http/file-request.ts',
    tests: 'src/platform/http/file-request.spec.ts',
    faults: [['a suffix longer than the file begins before it', 'Math.max(0, size - length)', 'size - length']],
  },
  {
    file: 'src/platform/storage/s3.object-store.ts',
    tests: 'test/components/storage/s3-object-store.e2e.ts',
    name: 'half an object',
    faults: [
      [
        'a download that was cut off counts as whole',
        '      if (received !== expected) throw new Error(`${received} of ${expected} bytes arrived`);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload-requests.service.ts',
    tests: 'src/modules/recordings/upload/upload-requests.service.spec.ts',
    faults: [
      [
        'an upload that is refused leaves its file in the spool',
        '        await form?.file.discard();\n',
        '        void form;\n',
      ],
    ],
  },
  {
    file: 'src/platform/http/file-request.ts',
    tests: 'src/platform/http/file-request.spec.ts',
    faults: [
      [
        'audio that was not modified since its own date is sent again',
        'seconds(file.lastModified) <= modifiedSince',
        'seconds(file.lastModified) < modifiedSince',
      ],
    ],
  },
  {
    file: 'src/platform/http/file-request.ts',
    tests: 'src/platform/http/file-request.spec.ts',
    faults: [
      [
        'ranges that touch are two parts when the later one is asked for first',
        'start <= added.end + 1',
        'start <= added.end',
      ],
    ],
  },
  {
    file: 'src/platform/http/file-request.ts',
    tests: 'src/platform/http/file-request.spec.ts',
    faults: [
      [
        'If-Unmodified-Since with the time of the audio is refused',
        'seconds(file.lastModified) > unmodifiedSince',
        'seconds(file.lastModified) >= unmodifiedSince',
      ],
    ],
  },
  {
    file: 'src/platform/http/file-response.ts',
    tests: 'src/platform/http/file-response.spec.ts',
    faults: [
      [
        'the length of an answer of several ranges lacks its end',
        'sum + head.length + lengthOf(range), tail.length);',
        'sum + head.length + lengthOf(range), 0);',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload-form.ts',
    tests: 'src/modules/recordings/upload/upload-requests.service.spec.ts',
    faults: [
      [
        'an upload that just fits into the quota is refused before it is read',
        "Number(headers['content-length'] ?? 0) - MAX_OVERHEAD_BYTES)",
        "Number(headers['content-length'] ?? 0))",
      ],
    ],
  },
];
