import { Teardown } from './teardown.mjs';

describe('Teardown', () => {
  const recorder = (log, name, before = Promise.resolve()) => ({
    stop: async () => {
      log.push(`${name} stops`);
      await before;
      log.push(`${name} stopped`);
    },
  });

  test('stops rank by rank, and the parts of one rank together', async () => {
    const log = [];
    const teardown = new Teardown();
    let letApiStop;
    const apiWaits = new Promise((resolve) => (letApiStop = resolve));
    const worker = recorder(log, 'worker');
    teardown.add(3, recorder(log, 'database'));
    teardown.add(1, recorder(log, 'api', apiWaits));
    teardown.add(1, { stop: () => worker.stop().then(letApiStop) });
    await teardown.run();
    expect(log).toEqual([
      'api stops',
      'worker stops',
      'worker stopped',
      'api stopped',
      'database stops',
      'database stopped',
    ]);
  });

  test('stops once, however often it is asked to', async () => {
    const log = [];
    const teardown = new Teardown();
    teardown.add(1, recorder(log, 'api'));
    await Promise.all([teardown.run(), teardown.run()]);
    expect(log).toHaveLength(2);
  });

  test('takes nothing new while it stops', async () => {
    const teardown = new Teardown();
    await teardown.run();
    expect(() => teardown.add(1, recorder([], 'late'))).toThrow('being stopped');
  });
});
