import { Logger } from '@nestjs/common';
import { parseLargeBody } from '../http/input/parse-body.js';
import { costOfText, ThreadPoolService } from './thread-pool.service.js';

const PARSE = { run: parseLargeBody, module: 'platform/http/input/parse-body.js' };
const LONG = 1_000_000;

describe('ThreadPoolService', () => {
  let threads: ThreadPoolService;

  beforeEach(() => {
    threads = new ThreadPoolService();
  });
  afterEach(() => threads.onApplicationShutdown());

  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

  it('does short work at once, and long work in a thread, with the same outcome', async () => {
    const run = jest.fn(parseLargeBody);
    Object.defineProperty(run, 'name', { value: 'parseLargeBody' });
    const expected = { body: { words: '[1]' }, problem: null };
    expect(await threads.run('a', { ...PARSE, run }, bytes('{"words":[1]}'), 1)).toEqual(expected);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await threads.run('a', { ...PARSE, run }, bytes('{"words":[1]}'), LONG)).toEqual(expected);
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('answers 503 when the work fails in its thread, and works on', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const missing = threads.run('a', { ...PARSE, module: 'nowhere.js' }, bytes('{}'), LONG);
    await expect(missing).rejects.toMatchObject({ status: 503 });
    expect(logged).toHaveBeenCalledTimes(1);
    expect(await threads.run('a', PARSE, bytes('{}'), LONG)).toEqual({ body: {}, problem: null });
  });

  it('counts the JSON of words as a fortieth of a text', () => {
    expect(costOfText('x'.repeat(10), 'y'.repeat(40), 'z'.repeat(40))).toBe(12);
  });
});
