import { get, type IncomingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { transcribe, upload } from '../support/state/recording-states.js';

interface RawAnswer {
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

describe('compression (D61)', () => {
  const service = useService({ ROLES: 'api' });
  let client: ApiClient;
  let note: string;

  beforeAll(async () => {
    client = await service.account();
    const id = await upload(client);
    const words = Array.from({ length: 3000 }, (_, i) => ({
      word: `word${i}`,
      start: i / 30_000,
      end: i / 30_000,
      confidence: 0.5,
    }));
    await transcribe(service, id, { text: words.map(({ word }) => word).join(' '), words });
    note = `/v1/recordings/${id}`;
  });

  /** As it is on the wire: other clients decompress without a word. */
  async function raw(path: string, encoding?: string, method = 'GET'): Promise<RawAnswer> {
    const headers = { ...client.headers, ...(encoding !== undefined && { 'accept-encoding': encoding }) };
    return await new Promise((resolve, reject) => {
      const sent = get(`${service.url}${path}`, { headers, method }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }));
      });
      sent.on('error', reject);
    });
  }

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])(
    'by %s makes a transcript, its forms and long lists smaller, and changes nothing else',
    async (encoding, plainOf) => {
      for (const path of [
        `${note}/transcription`,
        `${note}/transcription?format=srt`,
        `${note}?include=transcription`,
      ]) {
        const [plain, packed] = [await raw(path, 'identity'), await raw(path, encoding)];
        expect(plain.headers['content-encoding']).toBeUndefined();
        expect(packed.headers['content-encoding']).toBe(encoding);
        expect(packed.headers.vary).toContain('Accept-Encoding');
        expect(plainOf(packed.bytes).equals(plain.bytes)).toBe(true);
        expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
        expect(packed.headers['content-type']).toBe(plain.headers['content-type']);
        expect(packed.headers.etag).toBe(plain.headers.etag);
      }
    },
  );

  it('leaves alone what is short, audio, streams, and what the client does not take', async () => {
    for (const path of [note, '/v1/account', `${note}/audio`]) {
      const { headers, bytes } = await raw(path, 'gzip, br');
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers['content-length']).toBe(`${bytes.length}`);
    }
    for (const encoding of [undefined, 'identity', 'gzip;q=0', 'zip']) {
      const { headers } = await raw(`${note}/transcription`, encoding);
      expect([encoding, headers['content-encoding']]).toEqual([encoding, undefined]);
    }
    const stream = await fetch(`${service.url}/v1/events/stream`, { headers: client.headers });
    expect(stream.headers.get('content-encoding')).toBeNull();
    await stream.body?.cancel();
  });

  it('answers HEAD without a body, and 304 as before', async () => {
    const { headers, bytes } = await raw(`${note}/transcription`, 'gzip', 'HEAD');
    expect(bytes).toHaveLength(0);
    expect(headers.etag).toBeDefined();
    const again = await client.get(`${note}/transcription`).set('If-None-Match', headers.etag as string);
    expect(again.status).toBe(304);
  });
});
