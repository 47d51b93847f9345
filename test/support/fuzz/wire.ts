import { type IncomingMessage, request } from 'node:http';
import { FORM_TYPE, filePart, form, textPart } from '../http/multipart.js';
import type { FuzzAnswer } from './answer-check.js';
import type { Form, FormPart, Plan } from './plan.js';
import { sample } from './samples.js';

/** A request as it goes over the wire. */
export interface WireRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

const NO_ANSWER_MS = 15_000;

export function encodeBody(body: Plan['body']): Pick<WireRequest, 'headers' | 'body'> {
  if (!body) return { headers: {}, body: null };
  if (body.kind === 'json') {
    const headers: Record<string, string> = body.contentType === null ? {} : { 'Content-Type': body.contentType };
    return { headers, body: Buffer.from(body.text) };
  }
  const types = { form: FORM_TYPE, json: 'application/json', 'without boundary': 'multipart/form-data' };
  return { headers: { 'Content-Type': types[body.contentType] }, body: formBytes(body) };
}

function formBytes({ parts, complete }: Form): Buffer {
  const bytes = form(...parts.map(partBytes));
  return complete ? bytes : bytes.subarray(0, bytes.length - 20);
}

function partBytes({ name, filename, content }: FormPart): Buffer {
  return filename === undefined
    ? textPart(quoted(name), content)
    : filePart(sample(content), quoted(filename), quoted(name));
}

/** As browsers write what would end the header. */
const quoted = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

export const encodeQuery = (query: Plan['query']): string =>
  query.length === 0 ? '' : `?${query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;

const isStream = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** On a connection of its own: what the answer to another request does to the connection is no concern here. */
export function send(url: string, { method, target, headers, body }: WireRequest): Promise<FuzzAnswer> {
  const startedAt = performance.now();
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length: Record<string, string> = body ? { 'Content-Length': String(body.length) } : {};
    const sending = request(
      { hostname, port, method, path: target, headers: { ...headers, ...length }, agent: false, timeout: NO_ANSWER_MS },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
            afterMs: performance.now() - startedAt,
          });
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (!isStream(response)) return;
          finish();
          response.destroy();
        });
        response.on('error', reject);
        response.on('end', finish);
      },
    );
    sending.on('timeout', () => sending.destroy(new Error(`no answer within ${NO_ANSWER_MS} ms`)));
    // A refusal may come, and the connection be broken, while the body is still on its way: the answer counts.
    sending.on('error', reject);
    sending.end(body ?? undefined);
  });
}
