import type { ApiClient } from '../../../../src/testing/api-client.js';

/** An answer whose body may be audio. */
export interface BinaryAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  bytes: Buffer;
  /** Of a JSON answer; null for any other. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as supertest gives it
  body: any;
}

/** @param path with its query */
export async function fetchBinary(
  { url, headers: credentials }: Pick<ApiClient, 'url' | 'headers'>,
  path: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
): Promise<BinaryAnswer> {
  const answer = await fetch(`${url}${path}`, { method, headers: { ...credentials, ...headers } });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    bytes,
    body: isJson ? JSON.parse(bytes.toString()) : null,
  };
}

/** The parts of `multipart/byteranges`. */
export function partsOf({ headers, bytes }: BinaryAnswer): { headers: Record<string, string>; bytes: Buffer }[] {
  const [, boundary] = /^multipart\/byteranges; boundary=([\w-]+)$/.exec(headers['content-type'] ?? '') ?? [];
  if (boundary === undefined) throw new Error(`not multipart/byteranges: ${headers['content-type']}`);
  const text = bytes.toString('latin1');
  const end = `\r\n--${boundary}--\r\n`;
  if (!text.startsWith(`--${boundary}\r\n`) || !text.endsWith(end)) throw new Error('not delimited by its boundary');
  const inner = text.slice(boundary.length + 4, -end.length);
  return inner.split(`\r\n--${boundary}\r\n`).map((part) => {
    const headEnd = part.indexOf('\r\n\r\n');
    const lines = part.slice(0, headEnd).split('\r\n');
    return {
      headers: Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ') as [string, string])),
      bytes: Buffer.from(part.slice(headEnd + 4), 'latin1'),
    };
  });
}
