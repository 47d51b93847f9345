import { Client } from 'undici';
import { type AllowedNetworks, checkOutgoingUrl } from '../../platform/http/outgoing/address-rules.js';
import { checkedConnector, resolveHost } from '../../platform/http/outgoing/checked-connector.js';
import type { Egress } from '../../platform/http/outgoing/egress.js';
import { MAX_HEADER_BYTES, OutgoingRequestError } from '../../platform/http/outgoing/outgoing-error.js';

/** For DNS, connection, TLS handshake and the whole answer together. */
const FETCH_MS = 5000;
/** Hundreds of keys. */
const MAX_BYTES = 262_144;
const NAME_ERROR_MS = 1000;
const USER_AGENT = 'VoiceNoteTranscription-Keys/1';

/**
 * Fetches a key set under the address rules of webhooks (D29), without following redirects.
 * @returns the parsed JSON, of which nothing was checked. @throws Error
 */
export async function fetchKeys(url: string, allowed: AllowedNetworks, egress: Egress): Promise<unknown> {
  const refusal = checkOutgoingUrl(url, allowed, { httpsOnly: true });
  if (refusal !== null) throw new OutgoingRequestError('refused_address', refusal);
  const { origin, pathname, search } = new URL(url);
  const signal = AbortSignal.timeout(FETCH_MS);
  const connect = checkedConnector({ allowed, resolve: resolveHost, nameErrorMs: NAME_ERROR_MS, signal, egress });
  const client = new Client(origin, { connect, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES });
  try {
    const headers = { 'User-Agent': USER_AGENT, Accept: 'application/jwk-set+json, application/json' };
    const answer = await client.request({ path: pathname + search, method: 'GET', headers, signal });
    // Without a listener the error of a body that nobody reads would end the process.
    answer.body.on('error', () => undefined);
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
    return JSON.parse(await readText(answer.body as AsyncIterable<Buffer>)) as unknown;
  } finally {
    await client.destroy();
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
