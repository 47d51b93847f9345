import { request } from 'undici';

import { WAV_HEADER_BYTES, wavHeader } from '../../../scripts/lib/wav.mjs';

const BOUNDARY = 'bench-boundary-5c1e';

/** A multipart body with one file. */
export function formOf(bytes, name = 'note.wav') {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}

/** @param {import('undici').Dispatcher} [dispatcher] @returns {Promise<{ status: number, body: string }>} */
export async function post(url, { headers, body, dispatcher }) {
  const type = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` };
  const answer = await request(url, { method: 'POST', headers: { ...headers, ...type }, body, dispatcher });
  return { status: answer.statusCode, body: await answer.body.text() };
}

/** Does `count` pieces of work, `width` at a time. @returns {Promise<number>} milliseconds in all */
export async function inParallel(count, width, work) {
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) await work(next++);
    }),
  );
  return performance.now() - startedAt;
}

/** WAV of silence with a faint tone of noise, 16 kHz mono: about 32,000 bytes a second. */
export function wavOf(bytes) {
  const samples = bytes - WAV_HEADER_BYTES;
  return Buffer.concat([wavHeader(samples), Buffer.alloc(samples)]);
}
