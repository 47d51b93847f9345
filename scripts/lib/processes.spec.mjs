import { spawnSync } from 'node:child_process';

import { identityOf, run, stopTools, waitUntil } from './processes.mjs';

describe('stopTools', () => {
  test('ends tools with all that they have started, and no other tool starts after it', async () => {
    // The last one has a session of its own, as servers have.
    const time = `60.${process.pid}`;
    const script = `sleep ${time} & sh -c "sleep ${time} & wait" & setsid sleep ${time} & wait`;
    const ended = run('sh', ['-c', script]);
    const sleeping = () => {
      const { stdout } = spawnSync('ps', ['-Ao', 'pid=,args='], { encoding: 'utf8' });
      return [...stdout.matchAll(new RegExp(`^ *(\\d+) sleep ${time}$`, 'gm'))].map(([, pid]) => Number(pid));
    };
    await waitUntil(() => sleeping().length === 3, 10_000);
    const pids = sleeping();
    expect(pids).toHaveLength(3);
    await stopTools();
    expect(pids.filter((pid) => identityOf(pid))).toEqual([]);
    await ended;
    await expect(run('true', [])).rejects.toThrow('Everything is being stopped.');
  });
});
