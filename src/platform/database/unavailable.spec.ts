import { connectionErrorMessage, isDatabaseUnavailable, isQueryTimeout, retryWhileUnavailable } from './unavailable.js';

const errorOf = (fields: object, message = 'a message of Postgres') => Object.assign(new Error(message), fields);

describe('isDatabaseUnavailable', () => {
  it.each([
    ['08006', 'connection failure'],
    ['53300', 'too many connections'],
    ['57P01', 'admin shutdown'],
    ['57014', 'canceled by statement_timeout'],
    ['55P03', 'canceled by lock_timeout'],
    ['25P03', 'ended by idle_in_transaction_session_timeout'],
    ['25006', 'read-only after a fail-over'],
  ])('counts SQLSTATE %s: %s', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code }))).toBe(true);
  });

  it.each(['Query read timeout', 'Connection terminated unexpectedly', 'Client was closed and is not queryable'])(
    'counts "%s" of pg',
    (message) => {
      expect(isDatabaseUnavailable(errorOf({}, message))).toBe(true);
    },
  );

  it.each(['23505', '22021', '42601', '40P01'])('does not count SQLSTATE %s, a defect of the service', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code }))).toBe(false);
  });

  it.each(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'])(
    'counts %s of the socket, and of nothing else',
    (code) => {
      for (const field of ['syscall', 'driverError', 'errors']) {
        expect(isDatabaseUnavailable(errorOf({ code, [field]: 'x' }))).toBe(true);
      }
      expect(isDatabaseUnavailable(errorOf({ code }))).toBe(false);
    },
  );

  it.each([
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'Driver not Connected',
    'Connection is not established',
  ])('counts "%s", too', (message) => expect(isDatabaseUnavailable(errorOf({}, message))).toBe(true));

  it.each([['08P01'], ['53100'], ['57P03'], ['57P02']])('counts SQLSTATE %s of the same classes', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code }))).toBe(true);
  });

  it.each([['57000'], ['25001'], ['0800'], ['5300000'], ['EACCES']])('does not count %s', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code, syscall: 'open' }))).toBe(false);
  });

  it('counts nothing that is no error', () => {
    for (const thrown of [null, undefined, 'connection terminated', { code: '08006' }]) {
      expect(isDatabaseUnavailable(thrown)).toBe(false);
    }
  });
});

it('isQueryTimeout tells the error of pg from all others', () => {
  expect(isQueryTimeout(new Error('Query read timeout'))).toBe(true);
  expect(isQueryTimeout(new Error('query read timeout of another'))).toBe(false);
  expect(isQueryTimeout({ message: 'Query read timeout' })).toBe(false);
});

describe('retryWhileUnavailable', () => {
  const RETRY_MS = 300;
  let attempts: number;
  let errors: Error[];

  beforeEach(() => {
    attempts = 0;
    errors = [];
  });
  afterEach(() => jest.useRealTimers());

  const work = async () => {
    attempts++;
    const error = errors.shift();
    if (error) throw error;
    return 'done';
  };
  const lost = () => errorOf({ code: '08006' });
  const retry = (signal = new AbortController().signal) => retryWhileUnavailable(work, { signal });

  it('repeats until Postgres answers', async () => {
    errors = [lost(), lost()];
    expect(await retry()).toBe('done');
    expect(attempts).toBe(3);
  });

  it('waits between two attempts', async () => {
    jest.useFakeTimers();
    errors = [lost()];
    const done = retry();
    await jest.advanceTimersByTimeAsync(RETRY_MS - 1);
    expect(attempts).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(await done).toBe('done');
    expect(attempts).toBe(2);
  });

  it('throws any other error at once', async () => {
    errors = [lost(), errorOf({ code: '23505' }, 'a defect')];
    await expect(retry()).rejects.toThrow('a defect');
    expect(attempts).toBe(2);
  });

  it('ends when the signal is aborted, before or during the wait', async () => {
    errors = [lost(), lost(), lost()];
    const stop = new AbortController();
    const waiting = retry(stop.signal);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow();
    expect(attempts).toBe(1);
    await expect(retry(stop.signal)).rejects.toThrow('stopped');
    expect(attempts).toBe(2);
  });
});

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

describe('connectionErrorMessage', () => {
  it.each([
    ['postgres://user:secret@db.example:6432/notes', 'Cannot reach PostgreSQL at db.example:6432 (DATABASE_URL).'],
    ['postgres://user:secret@db.example/notes', 'Cannot reach PostgreSQL at db.example:5432 (DATABASE_URL).'],
    ['postgres:///notes', 'Cannot reach PostgreSQL at localhost:5432 (DATABASE_URL).'],
  ])('names the server of %s, and nothing else of it', (url, message) => {
    expect(connectionErrorMessage(refused, url)).toBe(message);
  });

  it('tells what a pooler needs', () => {
    const error = new Error('unsupported startup parameter: statement_timeout');
    expect(connectionErrorMessage(error, 'postgres://db')).toBe(
      'DATABASE_URL leads to a pooler in front of PostgreSQL: set DATABASE_POOLER=true.',
    );
  });

  it('is null for any other error', () => {
    expect(connectionErrorMessage(new Error('a defect'), 'postgres://db')).toBeNull();
  });
});
