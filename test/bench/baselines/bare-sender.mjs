// The least that sending webhooks can be: sign, post, record with one UPDATE, so many at a time.
//   URL: the receiver; WIDTH: how many at a time. Prints the seconds that all pending deliveries took.
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import pg from 'pg';

const width = Number(process.env.WIDTH);
const agent = new Agent({ keepAlive: true, maxSockets: width });
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const { rows } = await pool.query(
  `SELECT d.id, e.body FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.status = 'pending'`,
);

const text = `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, last_status = $2 WHERE id = $1`;
const startedAt = performance.now();
await Promise.all(
  Array.from({ length: width }, async () => {
    for (let row = rows.pop(); row; row = rows.pop()) {
      const signature = createHmac('sha256', 'secret').update(row.body).digest('hex');
      const status = await post(row.body, signature);
      await pool.query({ name: 'done', text, values: [row.id, status] });
    }
  }),
);
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1000 }));
await pool.end();
agent.destroy();

function post(body, signature) {
  return new Promise((resolve, reject) => {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'X-Service-Signature': `sha256=${signature}`,
    };
    const sent = request(process.env.URL, { method: 'POST', agent, headers });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.end(body);
  });
}
