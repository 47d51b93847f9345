import { readEnv } from './env.js';

const KEY = 'k'.repeat(32);
const read = (keys: NodeJS.ProcessEnv) =>
  readEnv({ DATABASE_URL: 'postgres://unused', REDIS_URL: 'redis://unused', ...keys });

describe('SECRET_KEY and SECRET_KEY_PREVIOUS', () => {
  it('are taken from 32 characters on, the second only where there is one', () => {
    const previous = 'p'.repeat(32);
    expect(read({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: previous })).toMatchObject({
      secretKey: KEY,
      secretKeyPrevious: previous,
    });
    for (const absent of [undefined, '', '  ']) {
      expect(read({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: absent }).secretKeyPrevious).toBeNull();
    }
  });

  it.each([
    [{}, 'SECRET_KEY is required'],
    [{ SECRET_KEY: 'k'.repeat(31) }, 'SECRET_KEY must be at least 32 characters long'],
    [{ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: 'p' }, 'SECRET_KEY_PREVIOUS must be at least 32 characters long'],
    [{ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: ` ${KEY}\n` }, 'SECRET_KEY_PREVIOUS must differ from SECRET_KEY'],
  ])('%j: %s', (keys, problem) => {
    expect(() => read(keys)).toThrow(`Invalid environment variables:\n  ${problem}`);
  });
});
