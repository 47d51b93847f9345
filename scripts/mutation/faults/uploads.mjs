/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const uploads = [
  {
    file: 'src/modules/recordings/quotas/quota-rules.ts',
    tests: 'src/modules/recordings/quotas/quota-rules.spec.ts',
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
    file: 'src/platform/storage/byte-range.ts',
    tests: 'test/http/resources/audio.e2e.ts',
    name: 'is not mounted, or',
    faults: [
      ['a read past the end leaves the file open', '    await handle.close();\n    throw error;', '    throw error;'],
    ],
  },
  {
    file: 'src/modules/recordings/quotas/quotas.service.ts',
    tests: 'src/modules/recordings/quotas/quotas.service.spec.ts',
    faults: [['uploads at the same time exceed a quota', '    await lockByName(tx, `quotas:${accountId}`);\n', '']],
  },
  {
    file: 'src/modules/recordings/audio-download/byte-ranges.ts',
    tests: 'src/modules/recordings/audio-download/byte-ranges.spec.ts',
    faults: [['a suffix longer than the file begins before it', 'Math.max(0, size - length)', 'size - length']],
  },
  {
    file: 'src/platform/storage/s3/s3.object-store.ts',
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
        '        await form.file.discard();\n',
        '        void form;\n',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/audio-download/conditional-request.ts',
    tests: 'src/modules/recordings/audio-download/conditional-request.spec.ts',
    faults: [
      [
        'audio that was not modified since its own date is sent again',
        'seconds(file.lastModified) <= modifiedSince',
        'seconds(file.lastModified) < modifiedSince',
      ],
    ],
  },
];
