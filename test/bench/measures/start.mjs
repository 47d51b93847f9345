import { median } from '../lib/load.mjs';

/** From the start of `node dist/main.js`, with both roles, to the first 200 of its readiness. */
export async function measureStart(stage, { pairs }) {
  const times = [];
  for (let i = 0; i < pairs; i++) {
    const service = await stage.service('api,worker');
    times.push(service.startMs / 1000);
    await service.stop();
  }
  return [{ what: 'start of dist/main.js to ready (s)', value: median(times), target: 2, atMost: true, figures: '' }];
}
