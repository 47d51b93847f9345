const STORAGE = 'src/platform/storage';
const UPLOAD = 'src/modules/recordings/upload';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const storage = [
  {
    file: `${STORAGE}/disk.object-store.ts`,
    tests: `${STORAGE}/disk.object-store.spec.ts`,
    faults: [
      [
        'the audio is not synced before it is moved',
        '[file.sync(), this.makeDurable(folder), reserved]',
        '[this.makeDurable(folder), reserved]',
      ],
      [
        'the audio is moved before its key is reserved',
        '[file.sync(), this.makeDurable(folder), reserved]',
        '[file.sync(), this.makeDurable(folder)]',
      ],
      ['the folder is not synced after the move', 'await syncFolder(folder);\n      } catch', '} catch'],
      ['the folder is not synced after a removal', 'await syncFolder(dirname(path));', ''],
      ['a disk that is not mounted has lost its objects', 'await this.requireRoot();\n        // A disk', '// A disk'],
      ['a folder that was lost is never made again', 'this.durableFolders.delete(folder);', ''],
      ['keys may lead out of the folder', 'assertObjectKey(key);', ''],
    ],
  },
  {
    file: `${STORAGE}/spool.ts`,
    tests: [`${STORAGE}/disk.object-store.spec.ts`, `${STORAGE}/spool.spec.ts`],
    faults: [
      ['sync does nothing', 'this.handle.datasync()', 'Promise.resolve()'],
      ['files in use are swept', ' || inUse.has(path)) continue;', ') continue;'],
      [
        'files of living processes are swept',
        'owner.host === HOST && isGone(Number(owner.pid))',
        'owner.host === HOST',
      ],
      ['files that are being written are swept', 'IDLE_SECONDS = 15', 'IDLE_SECONDS = 0'],
      ['what was written is not counted', 'this.sizeBytes += chunk.length;', 'this.sizeBytes = chunk.length;'],
    ],
  },
  {
    file: `${STORAGE}/file-system.ts`,
    tests: [`${STORAGE}/disk.object-store.spec.ts`, `${STORAGE}/spool.spec.ts`],
    faults: [
      ['other users can read files', 'FILE_MODE = 0o600', 'FILE_MODE = 0o644'],
      ['other users can read folders', 'FOLDER_MODE = 0o700', 'FOLDER_MODE = 0o755'],
      ['new folders are not synced', 'await syncFolder(parent);', ''],
      ['a folder is never synced', 'await handle.sync();', ''],
    ],
  },
  {
    file: `${STORAGE}/object-removals.service.ts`,
    tests: 'test/components/queries.e2e.ts',
    faults: [
      ['an object whose removal has begun is kept', ' AND attempts = 0 RETURNING object_key', ' RETURNING object_key'],
      [
        'an object is removed before its time',
        'WHERE object_key = $1 AND remove_after <= now() RETURNING 1',
        'WHERE object_key = $1 RETURNING 1',
      ],
      [
        'objects that are not due are removed',
        'SELECT object_key FROM object_removals WHERE remove_after <= now()\n',
        'SELECT object_key FROM object_removals\n',
      ],
      ['a removal that failed is tried again at once', 'least(3600, 2 ^ least(attempts + 1, 12))', '0'],
    ],
  },
  {
    file: `${UPLOAD}/upload.service.ts`,
    tests: `${UPLOAD}/upload.service.spec.ts`,
    faults: [
      ['the store is not told of the reservation', 'form.file, reserved)', 'form.file, Promise.resolve())'],
      [
        'what may arrive late is removed once',
        '{ mayArriveLate }),\n        () => undefined',
        '{ mayArriveLate: false }),\n        () => undefined',
      ],
      [
        'an upload that failed leaves its object',
        '() => this.objects.cancel(objectKey, { mayArriveLate })',
        '() => ({ mayArriveLate })',
      ],
      ['a recording without its object is accepted', 'if (!inserted) throw', 'if (!inserted && !recording.id) throw'],
      ['a recording is accepted without its event', 'await this.bus.emit(event, tx);', ''],
    ],
  },
  {
    file: `${STORAGE}/s3.object-store.ts`,
    tests: 'test/components/storage/s3-object-store.e2e.ts',
    faults: [
      ['the object is sent before its key is reserved', 'await reserved;', ''],
      ['what the server may still write is taken for lost', 'mayArriveLate ||= !isRefusal(error);', ''],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload-requests.service.ts',
    tests: 'test/http/quotas.e2e.ts',
    name: 'is compared with Content-Length',
    faults: [
      [
        'an upload that a quota refuses keeps its slot',
        '    } finally {\n      releaseSlot();\n    }',
        '    } catch (error) {\n      throw error;\n    }',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'test/http/quotas.e2e.ts',
    name: 'first day of the month',
    faults: [['the first day of a month is missing in its quota', 'WHERE day >= $2::date', 'WHERE day > $2::date']],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'src/modules/recordings/quotas.service.spec.ts',
    faults: [
      ['a full quota lets in what adds nothing', '(used < limit && used + added <= limit)', 'used + added <= limit'],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload-form.ts',
    tests: 'test/http/input/bad-uploads.e2e.ts',
    name: 'ends a chunked body',
    faults: [['a chunked body may be of any length', '      if (arrived > MAX_FORM_BYTES) reject(tooLarge());\n', '']],
  },
  {
    file: 'src/platform/storage/file-system.ts',
    tests: 'src/platform/storage/disk.object-store.spec.ts',
    faults: [['a range that ends one byte behind the file is begun', 'range.end >= size)', 'range.end > size)']],
  },
  {
    file: 'src/modules/recordings/recordings.service.ts',
    tests: 'test/http/quotas.e2e.ts',
    name: 'a retry needs room in',
    faults: [['a retry needs room for its audio once more', '{ ...quotas, storedBytes: null }', 'quotas']],
  },
  {
    file: 'src/platform/storage/object-removals.service.ts',
    tests: 'test/fleet/outages/failing-storage.e2e.ts',
    name: 'leaves no orphan',
    faults: [
      [
        'an object that arrives late is forgotten',
        '      if (mayArriveLate) return await this.store.remove(key);\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload.service.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'is 409 for another',
    faults: [
      ['the language of an upload is no part of what its key stands for', '{ url },\n    language,\n', '{ url },\n'],
    ],
  },
  {
    file: 'src/platform/storage/s3.object-store.ts',
    tests: 'test/components/storage/s3-object-store.e2e.ts',
    name: 'remembers what',
    faults: [
      [
        'an upload that may arrive late is forgotten when the next attempt is refused',
        'mayArriveLate ||= !isRefusal(error)',
        'mayArriveLate = !isRefusal(error)',
      ],
    ],
  },
  {
    file: 'src/platform/storage/disk.object-store.ts',
    tests: 'src/platform/storage/disk.object-store.spec.ts',
    faults: [['an object stays when its folder cannot be synced', '        await rm(target, { force: true });\n', '']],
  },
  {
    file: 'src/platform/storage/spool.ts',
    tests: 'src/platform/storage/spool.spec.ts',
    faults: [['the spool files of another host are taken for those of a dead process', ' && owner.host === HOST', '']],
  },
  {
    file: 'src/platform/storage/object-removals.service.ts',
    tests: 'test/components/queries.e2e.ts',
    name: 'arrive late',
    faults: [
      ['the reservation of an object that may arrive late is given up', '...(mayArriveLate ? {} : NOW)', '...NOW'],
    ],
  },
  {
    file: 'src/modules/recordings/quotas.service.ts',
    tests: 'test/http/quotas.e2e.ts',
    faults: [
      [
        'an account gets the usage of another',
        'accountIds.map((accountId) => usages[distinct.indexOf(accountId)] as QuotaUsage)',
        'accountIds.map((_, i) => usages[i] as QuotaUsage)',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/upload/upload.service.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'under the same key',
    faults: [
      ['a repeat with other languages counts as the same upload', '    ...(languages ? [{ languages }] : []),\n', ''],
      ['a repeat with other vocabulary counts as the same upload', '    ...(vocabulary ? [vocabulary] : []),\n', ''],
    ],
  },
  {
    file: 'src/modules/recordings/upload/idempotency.queries.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'is forgotten after 24 h',
    faults: [['a key that is used again after a day keeps its old time', ', created_at = excluded.created_at', '']],
  },
  {
    file: 'src/modules/recordings/upload/upload.service.ts',
    tests: 'src/modules/recordings/upload/upload.service.spec.ts',
    faults: [
      [
        'a repeat is refused when the first one filled the quota',
        'error instanceof QuotaExceededError && (await this.replayOfUnderWay(recording, claim))',
        'null',
      ],
      [
        'a repeat is refused while the first one, which filled the quota, is stored',
        'Date.now() < deadline && (await this.quotas.hasReservations(recording.accountId))',
        'false',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/recordings.service.ts',
    tests: 'src/modules/recordings/recordings.service.spec.ts',
    faults: [
      [
        'a retry is refused when the audio of the month is used up',
        '{ ...quotas, audioSecondsPerMonth: null }',
        'quotas',
      ],
    ],
  },
  {
    file: 'src/platform/storage/disk.object-store.ts',
    tests: 'src/platform/storage/disk.object-store.spec.ts',
    faults: [
      [
        'audio on a disk that is not mounted counts as lost, and fails its recording',
        "        if (errorCode(error) !== 'ENOENT') throw error;\n        await this.requireRoot();\n        throw new ObjectNotFoundError",
        "        if (errorCode(error) !== 'ENOENT') throw error;\n        throw new ObjectNotFoundError",
      ],
    ],
  },
  {
    file: 'src/platform/storage/file-system.ts',
    tests: 'src/platform/storage/disk.object-store.spec.ts',
    faults: [
      [
        'other users of the machine can read the folders of recordings',
        '{ recursive: true, mode: FOLDER_MODE }',
        '{ recursive: true }',
      ],
    ],
  },
];
