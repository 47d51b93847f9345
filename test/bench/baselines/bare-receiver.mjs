// The least that a safe upload can do: the body to a file as it comes, fsync, rename, fsync of the folder, one row.
import { createWriteStream, mkdirSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { randomUUID } from 'node:crypto';
import pg from 'pg';

const folder = join(process.env.STORAGE_DIR, 'bare');
mkdirSync(folder, { recursive: true });
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
await pool.query(
  'CREATE TABLE IF NOT EXISTS bare_uploads (id uuid PRIMARY KEY, size bigint, at timestamptz DEFAULT now())',
);

async function receive(request) {
  const id = randomUUID();
  const file = join(folder, `${id}.part`);
  await pipeline(request, createWriteStream(file));
  await sync(file);
  await rename(file, join(folder, id));
  await sync(folder);
  const values = [id, Number(request.headers['content-length'])];
  await pool.query({ name: 'insert', text: 'INSERT INTO bare_uploads (id, size) VALUES ($1, $2)', values });
  return id;
}

async function sync(path) {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}

async function answer(request, response) {
  if (request.url === '/ready') return response.end();
  const id = await receive(request);
  return response.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id }));
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(error.message));
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
