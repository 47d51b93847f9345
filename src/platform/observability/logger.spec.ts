import { QueryFailedError } from 'typeorm';
import type { Env } from '../config/env.js';
import { createLogger } from './logger.js';

describe('a line of the log', () => {
  let written: string[];
  const logger = (logLevel: string) =>
    createLogger({ logLevel } as Env, { write: (line: string) => void written.push(line) });
  const lines = () => written.map((line) => JSON.parse(line) as Record<string, unknown>);

  beforeEach(() => {
    written = [];
  });

  it('has its level as a word, the time in milliseconds and the process, and no name of the host', () => {
    const before = Date.now();
    logger('info').warn({ recording_id: 'r' }, 'engine crashed');
    const [line] = lines();
    expect(line).toEqual({
      level: 'warn',
      time: expect.any(Number),
      pid: process.pid,
      recording_id: 'r',
      msg: 'engine crashed',
    });
    expect(line?.time).toBeGreaterThanOrEqual(before);
    expect(written[0]?.endsWith('}\n')).toBe(true);
  });

  it('is written for what LOG_LEVEL asks for', () => {
    const quiet = logger('warn');
    quiet.info('no');
    quiet.warn('yes');
    expect(lines().map(({ msg }) => msg)).toEqual(['yes']);
  });

  it('of an error of the database has neither its statement nor its parameters', () => {
    const driverError = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (secret)=(x)' });
    const failed = new QueryFailedError('INSERT INTO api_keys', ['a secret'], driverError);
    logger('info').error({ err: Object.assign(failed, { cause: new Error('the cause') }) }, 'failed');
    expect(lines()[0]?.err).toEqual({
      type: 'QueryFailedError',
      message: 'duplicate key',
      code: '23505',
      stack: expect.stringContaining('logger.spec'),
      cause: { type: 'Error', message: 'the cause', stack: expect.any(String) },
    });
    expect(written.join('')).not.toMatch(/INSERT|secret/);
  });

  it('has the text of a thrown value that is not an error', () => {
    logger('info').error({ err: 42 }, 'failed');
    expect(lines()[0]?.err).toEqual({ message: '42' });
  });
});
