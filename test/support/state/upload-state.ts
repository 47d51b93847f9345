import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import type { TestService } from '../../../src/testing/test-service.js';

/** What a service keeps of uploads. */
export interface UploadState {
  recordings: number;
  objects: string[];
  spooled: string[];
  removals: string[];
  idempotencyKeys: number;
}

export async function uploadState(
  service: Pick<TestService, 'database'>,
  environment: TestEnvironment,
): Promise<UploadState> {
  const folder = environment.variables.STORAGE_DIR as string;
  const [counts] = await service.database.query<{ recordings: number; keys: number; removals: string[] }>(
    `SELECT (SELECT count(*)::int FROM recordings) AS recordings,
       (SELECT count(*)::int FROM idempotency_keys) AS keys,
       (SELECT coalesce(array_agg(object_key ORDER BY object_key), '{}') FROM object_removals) AS removals`,
  );
  return {
    recordings: counts?.recordings ?? -1,
    objects: await filesBelow(join(folder, 'objects')),
    spooled: await filesBelow(join(folder, 'spool')),
    removals: counts?.removals ?? [],
    idempotencyKeys: counts?.keys ?? -1,
  };
}

/** The state once nothing of earlier tests is being removed in the background any more. */
export async function settledUploadState(
  service: Pick<TestService, 'database'>,
  environment: TestEnvironment,
): Promise<UploadState> {
  return await eventually(async () => {
    const state = await uploadState(service, environment);
    return state.removals.length === 0 && state.spooled.length === 0 && state;
  });
}

/** Waits until exactly this is kept: objects are removed, and their removals committed, in the background. */
export async function expectUploadState(
  service: Pick<TestService, 'database'>,
  environment: TestEnvironment,
  expected: UploadState,
): Promise<void> {
  let state = await uploadState(service, environment);
  await eventually(async () => {
    state = await uploadState(service, environment);
    return isDeepStrictEqual(state, expected);
  }).catch(() => expect(state).toEqual(expected));
}

/** Paths of all files, without those that begin with a dot, which are the store's own. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true }).catch(() => [] as string[]);
  const files: string[] = [];
  for (const entry of entries) {
    const info = await stat(join(folder, entry)).catch(() => null);
    if (info?.isFile() && !/(^|\/)\./.test(entry)) files.push(entry);
  }
  return files.toSorted();
}
