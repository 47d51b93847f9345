import { request } from 'node:http';

const BOUNDARY = 'bench-boundary-5c1e';

/** A multipart body with one file. */
export function formOf(bytes, name = 'note.wav') {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}

/** @returns {Promise<{ status: number, body: string, ms: number }>} */
export function post(url, { headers, body, agent }) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const type = `multipart/form-data; boundary=${BOUNDARY}`;
    const sent = request(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'Content-Type': type, 'Content-Length': body.length },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, body: text, ms: performance.now() - startedAt }));
      response.on('error', reject);
    });
    sent.end(body);
  });
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
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(bytes - 8, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(16_000, 24);
  header.writeUInt32LE(32_000, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(bytes - 44, 40);
  return Buffer.concat([header, Buffer.alloc(bytes - 44)]);
}
