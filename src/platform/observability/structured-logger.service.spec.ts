import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { type Env, readEnv } from '../config/env.js';
import { createLogger, StructuredLoggerService } from './structured-logger.service.js';

describe('StructuredLoggerService', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = new Logger('Some');

  beforeAll(() => {
    const env = readEnv({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgres://unused',
      REDIS_URL: 'redis://unused',
      SECRET_KEY: 'a secret key of at least 32 characters',
      LOG_LEVEL: 'trace',
    });
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    Logger.overrideLogger(new StructuredLoggerService(createLogger(env, destination)));
  });

  beforeEach(() => lines.splice(0));

  it.each([
    ['log', 'info'],
    ['warn', 'warn'],
    ['error', 'error'],
    ['fatal', 'fatal'],
    ['debug', 'debug'],
    ['verbose', 'trace'],
  ] as const)('%s writes one line of level %s, with its context and fields', (method, level) => {
    logger[method]({ recording_id: '1' }, 'it happened');
    expect(lines).toEqual([
      { level, time: expect.any(Number), pid: process.pid, context: 'Some', recording_id: '1', msg: 'it happened' },
    ]);
  });

  it('writes texts as Nest itself does', () => {
    logger.log('started');
    logger.error('broken', 'a stack');
    expect(lines).toEqual([
      expect.objectContaining({ context: 'Some', msg: 'started' }),
      expect.objectContaining({ context: 'Some', msg: 'broken', stack: 'a stack' }),
    ]);
  });

  it('writes errors without their query and parameters', () => {
    const error = Object.assign(new Error('no'), { code: '23505', parameters: ['secret'], query: 'SELECT' });
    logger.error({ err: error }, 'failed');
    logger.error(error);
    for (const line of lines) {
      expect(line.err).toEqual({ type: 'Error', message: 'no', code: '23505', stack: expect.any(String) });
    }
  });
});

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
      stack: expect.stringContaining('structured-logger.service.spec'),
      cause: { type: 'Error', message: 'the cause', stack: expect.any(String) },
    });
    expect(written.join('')).not.toMatch(/INSERT|secret/);
  });

  it('has the text of a thrown value that is not an error', () => {
    logger('info').error({ err: 42 }, 'failed');
    expect(lines()[0]?.err).toEqual({ message: '42' });
  });
});
