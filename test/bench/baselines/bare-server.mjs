// The least that a server can do: node:http, one prepared statement, JSON. Knows nobody and checks nothing.
//   SQL: the statement; PARAMETERS: a JSON list; WRAP: row (the first) or list (all)
import { createServer } from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const text = process.env.SQL;
const values = JSON.parse(process.env.PARAMETERS ?? '[]');
const isList = process.env.WRAP === 'list';

async function answer(request, response) {
  if (request.url === '/ready') return response.end();
  const { rows } = await pool.query({ name: 'one', text, values });
  const body = JSON.stringify(isList ? { items: rows, total: rows.length } : rows[0]);
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  return response.end(body);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(error.message));
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
