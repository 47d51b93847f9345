import { Logger } from '@nestjs/common';
import type { Repository, UpdateResult } from 'typeorm';
import type { SecretsService } from '../../../platform/secrets.service.js';
import type { ApiKey } from '../api-key.entity.js';
import { SecretRehashService } from './secret-rehash.service.js';

/** Resolves when everything has run that waits for no further answer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SecretRehashService', () => {
  let writes: { parameters: unknown[]; end: (error?: Error) => void }[];
  let rehash: SecretRehashService;

  const keyOf = (id: string, secretHash = `old.${id}`) => ({ id, secretHash });
  const written = () => writes.map(({ parameters }) => parameters);

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    writes = [];
    const keys = {
      update: ({ id, secretHash }: ApiKey, after: ApiKey) =>
        new Promise<UpdateResult>((resolve, reject) => {
          const end = (error?: Error): void => (error ? reject(error) : resolve({} as UpdateResult));
          writes.push({ parameters: [id, secretHash, after.secretHash], end });
        }),
    };
    const secrets: Partial<SecretsService> = {
      madeUnder: (hash) => (hash.startsWith('old.') ? 'previous' : 'current'),
      hash: (secret) => `new.${secret}`,
    };
    rehash = new SecretRehashService(keys as unknown as Repository<ApiKey>, secrets as SecretsService);
  });

  it('replaces exactly the hash that was seen, and leaves one under the current key alone', () => {
    rehash.schedule(keyOf('a', 'new.s'), 's');
    expect(writes).toEqual([]);
    rehash.schedule(keyOf('a'), 's');
    expect(written()).toEqual([['a', 'old.a', 'new.s']]);
  });

  it('writes once for all the uses that come in the meantime, and one key at a time', async () => {
    for (let i = 0; i < 50; i++) for (const id of ['a', 'b', 'c']) rehash.schedule(keyOf(id), id);
    expect(writes).toHaveLength(1);
    for (const count of [2, 3, 3]) {
      writes.at(-1)?.end();
      await settled();
      expect(writes).toHaveLength(count);
    }
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'c']);
    rehash.schedule(keyOf('d'), 'd');
    expect(writes).toHaveLength(4);
  });

  it('survives a write that fails, and tries again at the next use', async () => {
    rehash.schedule(keyOf('a'), 'a');
    rehash.schedule(keyOf('b'), 'b');
    writes[0]?.end(new Error('no connection'));
    await settled();
    writes[1]?.end();
    await settled();
    rehash.schedule(keyOf('a'), 'a');
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'a']);
  });

  it('ends with the write that is under way when the process stops', async () => {
    for (const id of ['a', 'b', 'c']) rehash.schedule(keyOf(id), id);
    const stopped = rehash.onApplicationShutdown();
    writes[0]?.end();
    await stopped;
    expect(writes).toHaveLength(1);
  });
});
