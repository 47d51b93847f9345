import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request, { type Response } from 'supertest';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { expectUploadState, uploadState } from '../../support/state/upload-state.js';

/** Audio of so many seconds has so many times 32,000 bytes. */
const FITS = 10;
const TOO_LONG = 150;
const DISK_MEGABYTES = 2;

const mount = (...args: string[]): boolean => spawnSync('mount', args).status === 0;

/** A small disk of one's own, which only some users and containers may have. */
const disk = mkdtempSync(join(tmpdir(), 'voice-notes-disk-'));
const isMounted = mount('-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, 'voice-notes', disk);

(isMounted ? describe : describe.skip)('a disk', () => {
  // Uploads are refused long before a disk is full: here it is to become full.
  const service = useService({ ROLES: 'api', STORAGE_DIR: disk, STORAGE_MIN_FREE_BYTES: '0' });
  const { environment } = service;
  let client: ApiClient;

  beforeAll(async () => {
    environment.variables.STORAGE_DIR = disk;
    client = await service.account();
  });

  afterAll(async () => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  function expectUnavailable(response: Response): void {
    expect(response.status).toBe(503);
    expect(response.body.error).toMatchObject({ code: 5003, type: 'ServiceUnavailableError' });
    expect(response.headers['retry-after']).toBeDefined();
  }

  it('that becomes full in the middle of an upload costs that upload, and keeps nothing of it', async () => {
    await client.upload(silenceWav(FITS)).expect(201);
    const before = await uploadState(service, environment);
    expectUnavailable(await client.upload(silenceWav(TOO_LONG)));
    await expectUploadState(service, environment, before);
    await client.upload(silenceWav(FITS)).expect(201);
  });

  it('that is read-only is reported, refuses uploads and nothing else, and is used again when it is not', async () => {
    const before = await uploadState(service, environment);
    expect(mount('-o', 'remount,ro', disk)).toBe(true);
    expectUnavailable(await client.upload(silenceWav(FITS)));
    await client.get('/v1/recordings').expect(200);
    const { body } = await request(service.url).get('/health/ready').expect(503);
    expect(body.checks.storage).not.toBe('ok');
    expect(await uploadState(service, environment)).toEqual(before);
    expect(mount('-o', 'remount,rw', disk)).toBe(true);
    await client.upload(silenceWav(FITS)).expect(201);
  });
});

if (!isMounted) rmSync(disk, { recursive: true });
