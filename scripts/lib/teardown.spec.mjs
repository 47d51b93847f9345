import { setTimeout as sleep } from 'node:timers/promises';

import { Teardown } from './teardown.mjs';

describe('Teardown', () => {
  const recorder = (log, name, ms = 0) => ({
    stop: async () => {
      log.push(`${name} stops`);
      await sleep(ms);
      log.push(`${name} stopped`);
    },
  });

  test('stops rank by rank, and the parts of one rank together', async () => {
    const log = [];
    const teardown = new Teardown();
    teardown.add(3, recorder(log, 'database'));
    teardown.add(1, recorder(log, 'api', 5));
    teardown.add(1, recorder(log, 'worker'));
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
