// Loaded by `node --import`: tells on LOOP_HOLD_PORT how long one turn of the event loop computed since it was last asked,
// in milliseconds of the main thread's own time on a CPU, so that a busy machine does not matter (schedstat, proc(5)).
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

const port = Number(process.env.LOOP_HOLD_PORT);
const cpuMs = () =>
  Number(readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

if (isMainThread && port > 0) {
  let last = cpuMs();
  let longest = 0;
  const look = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(look, 2).unref();
  const server = createServer((_request, response) => {
    look();
    response.end(JSON.stringify({ ms: longest }));
    longest = 0;
  });
  server.listen(port, '127.0.0.1').unref();
}
