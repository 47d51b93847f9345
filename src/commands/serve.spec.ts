import type { Extension } from '../extension.js';
import { createApp } from '../app.setup.js';
import { protectProcess } from '../platform/config/process-protection.js';
import { readEnv } from '../platform/config/env.js';
import { runService } from './serve.js';

jest.mock('../app.setup.js', () => ({ createApp: jest.fn() }));
jest.mock('../platform/config/process-protection.js', () => ({ protectProcess: jest.fn() }));
jest.mock('../platform/config/env.js', () => ({ readEnv: jest.fn() }));

const ENV = {
  port: 3000,
  host: '0.0.0.0',
  databaseUrl: 'postgres://localhost:5432/notes',
  roles: ['api'],
  shutdownDelaySeconds: 0,
};
const STOP_MS = 10_000;

describe('runService', () => {
  /** What happened, in order. */
  let steps: string[];
  let listen: jest.Mock;
  let close: jest.Mock;
  let exit: jest.SpyInstance;
  let stderr: jest.SpyInstance;
  let stop: Map<string, () => void>;
  const extensions: Extension[] = [];

  beforeEach(() => {
    jest.useFakeTimers();
    steps = [];
    stop = new Map();
    const record = (step: string) => async () => void steps.push(step);
    [listen, close] = [jest.fn(record('listen')), jest.fn(record('close'))];
    jest.mocked(readEnv).mockReturnValue(ENV as never);
    jest.mocked(protectProcess).mockImplementation(() => void steps.push('protect'));
    jest.mocked(createApp).mockImplementation(async () => {
      steps.push('create');
      return { listen, close, flushLogs: () => void steps.push('flush') } as never;
    });
    exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
    stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    jest.spyOn(process, 'on').mockImplementation((signal, listener) => {
      stop.set(String(signal), listener as () => void);
      return process;
    });
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it('protects the process, and writes its logs once it listens', async () => {
    await runService(extensions);
    expect(steps).toEqual(['protect', 'create', 'listen', 'flush']);
    expect(jest.mocked(createApp)).toHaveBeenCalledWith(ENV, extensions);
    expect(listen.mock.calls).toEqual([[3000, '0.0.0.0']]);
    expect([exit.mock.calls, stderr.mock.calls]).toEqual([[], []]);
  });

  it.each(['SIGTERM', 'SIGINT'])('closes at %s, and ends with the exit code of the process', async (signal) => {
    await runService(extensions);
    stop.get(signal)?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(close).toHaveBeenCalledTimes(1);
    expect(exit.mock.calls).toEqual([[]]);
    expect([...stop.keys()]).toEqual(['SIGTERM', 'SIGINT']);
  });

  it('listens to signals before it listens to clients', async () => {
    listen.mockImplementation(async () => expect(stop.size).toBe(2));
    await runService(extensions);
    expect([listen.mock.calls.length, exit.mock.calls]).toEqual([1, []]);
  });

  it.each([
    [['api'], 5000],
    [['transcriber', 'deliverer'], 0],
  ])('serves on without being ready until a proxy has noticed, as %j for %i ms', async (roles, ms) => {
    const require = jest.fn();
    jest.mocked(readEnv).mockReturnValue({ ...ENV, roles, shutdownDelaySeconds: 5 } as never);
    const app = { listen, close, flushLogs: jest.fn(), get: () => ({ require }), getHttpAdapter: () => null };
    jest.mocked(createApp).mockResolvedValue(app as never);
    await runService(extensions);
    stop.get('SIGTERM')?.();
    if (ms > 0) {
      await jest.advanceTimersByTimeAsync(ms - 1);
      expect([require.mock.calls.length, close.mock.calls.length]).toEqual([1, 0]);
      expect(await require.mock.calls[0]?.[1]()).toBe('the process is stopping');
    }
    await jest.advanceTimersByTimeAsync(1);
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('ends with exit code 1 when it cannot close', async () => {
    close.mockRejectedValue(new Error('no connection'));
    await runService(extensions);
    stop.get('SIGTERM')?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(exit.mock.calls).toEqual([[1]]);
  });

  it('ends with exit code 1 after ten seconds, whatever is in progress', async () => {
    close.mockReturnValue(new Promise(() => undefined));
    await runService(extensions);
    stop.get('SIGTERM')?.();
    await jest.advanceTimersByTimeAsync(STOP_MS - 1);
    expect(exit).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(exit.mock.calls).toEqual([[1]]);
  });

  it('ends at once at the second signal, also another one, and closes once', async () => {
    close.mockReturnValue(new Promise(() => undefined));
    await runService(extensions);
    stop.get('SIGTERM')?.();
    expect(exit).not.toHaveBeenCalled();
    stop.get('SIGINT')?.();
    expect(exit.mock.calls[0]).toEqual([1]);
  });

  it.each([
    ['what is wrong with its environment', 'PORT must be a number', readEnv],
    ['why it cannot start', 'port in use', createApp],
  ])('prints %s, without its stack, and ends with exit code 1', async (_, message, failing) => {
    jest.mocked(failing as jest.Mock).mockImplementation(() => {
      throw new Error(message);
    });
    await runService(extensions);
    expect(stderr.mock.calls).toEqual([[`${message}\n`]]);
    expect(exit.mock.calls).toEqual([[1]]);
    expect(listen).not.toHaveBeenCalled();
  });

  it('names the address at which it cannot reach PostgreSQL', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
    jest.mocked(createApp).mockRejectedValue(refused);
    await runService(extensions);
    expect(stderr.mock.calls).toEqual([['Cannot reach PostgreSQL at localhost:5432 (DATABASE_URL).\n']]);
    expect(exit.mock.calls).toEqual([[1]]);
  });
});
