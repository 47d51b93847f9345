// A receiver that answers at once and counts. GET /count tells how many, and when the first and the last came.
import { createServer } from 'node:http';

let count = 0;
let first = 0;
let last = 0;

createServer((request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify({ count, seconds: (last - first) / 1000 }));
  request.resume();
  return request.on('end', () => {
    last = performance.now();
    first ||= last;
    count += 1;
    response.end();
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
