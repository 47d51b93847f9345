import { Logger } from '@nestjs/common';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { SecretsService } from '../../platform/secrets/secrets.service.js';
import { SecretRehashService } from './secret-rehash.service.js';

/** Everything that can go on without a further answer has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('HashRenewal', () => {
  let writes: { parameters: unknown[]; end: (error?: Error) => void }[];
  let renewal: SecretRehashService;

  const keyOf = (id: string, secretHash = `old.${id}`) => ({ id, secretHash });
  const written = () => writes.map(({ parameters }) => parameters);

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    writes = [];
    const database: Partial<DatabaseService> = {
      query: (_, parameters = []) =>
        new Promise((resolve, reject) => {
          writes.push({ parameters, end: (error) => (error ? reject(error) : resolve([])) });
        }),
    };
    const secrets: Partial<SecretsService> = {
      madeUnder: (hash) => (hash.startsWith('old.') ? 'previous' : 'current'),
      hash: (secret) => `new.${secret}`,
    };
    renewal = new SecretRehashService(database as DatabaseService, secrets as SecretsService);
  });

  it('replaces exactly the hash that was seen, and leaves one under the current key alone', () => {
    renewal.renew(keyOf('a', 'new.s'), 's');
    expect(writes).toEqual([]);
    renewal.renew(keyOf('a'), 's');
    expect(written()).toEqual([['a', 'old.a', 'new.s']]);
  });

  it('writes once for all the uses that come in the meantime, and one key at a time', async () => {
    for (let i = 0; i < 50; i++) for (const id of ['a', 'b', 'c']) renewal.renew(keyOf(id), id);
    expect(writes).toHaveLength(1);
    for (const count of [2, 3, 3]) {
      writes.at(-1)?.end();
      await settled();
      expect(writes).toHaveLength(count);
    }
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'c']);
    renewal.renew(keyOf('d'), 'd');
    expect(writes).toHaveLength(4);
  });

  it('outlives a write that fails, and tries again at the next use', async () => {
    renewal.renew(keyOf('a'), 'a');
    renewal.renew(keyOf('b'), 'b');
    writes[0]?.end(new Error('no connection'));
    await settled();
    writes[1]?.end();
    await settled();
    renewal.renew(keyOf('a'), 'a');
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'a']);
  });

  it('ends with the write that is under way when the process stops', async () => {
    for (const id of ['a', 'b', 'c']) renewal.renew(keyOf(id), id);
    const stopped = renewal.onApplicationShutdown();
    writes[0]?.end();
    await stopped;
    expect(writes).toHaveLength(1);
  });
});
