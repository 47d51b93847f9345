import { Logger } from '@nestjs/common';
import { readEnv } from '../config/env.js';
import { createLogger } from './logger.js';
import { StructuredLoggerService } from './structured-logger.service.js';

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
