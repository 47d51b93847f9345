import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

const ANSWER_TIMEOUT_MS = 20_000;
const AGAIN_MS = 400;
const SLOW_STEPS = 10;
const SLOW_STEP_MS = 250;
const BOUNDARY = 'chaos-boundary-7f3a';

/** An answer that no client can expect. */
class UnexpectedAnswerError extends Error {}

/** Null when a client got an answer that it cannot expect, which is noted. @param {string[]} unexpected */
export async function orNull(unexpected, work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnexpectedAnswerError)) throw error;
    unexpected.push(error.message);
    return null;
  }
}

/** @typedef {{ at: number, ms: number, status: number | null }} Attempt status: null when no answer came */

/** A client that knows that answers can get lost: it repeats what it was not answered, with the same key. */
export class Client {
  /** Requests that got no answer, or one that says "later". */
  unanswered = 0;

  /**
   * @param {() => string} anyUrl of one of the API processes
   * @param {{ later?: number[], onAttempt?: (attempt: Attempt) => void }} options later: answers after which it repeats
   */
  constructor(anyUrl, { key, secret }, deadline, { later = [503], onAttempt = () => undefined } = {}) {
    this.anyUrl = anyUrl;
    this.headers = { 'X-Service-API-Key': key, 'X-Service-API-Secret': secret };
    this.deadline = deadline;
    this.later = later;
    this.onAttempt = onAttempt;
  }

  /** @returns {Promise<{ id: string, attempts: number } | null>} null when it was never answered */
  async upload({ name, file, slow }) {
    const body = formOf(name, file);
    const headers = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}`, 'Idempotency-Key': name };
    const answer = await this.insist({ method: 'POST', path: '/v1/recordings', headers, body, slow }, [201]);
    return answer && { id: answer.body.id, attempts: answer.attempts };
  }

  /** A repeated DELETE finds nothing: the first one got through, its answer did not. */
  async delete(id) {
    return await this.insist({ method: 'DELETE', path: `/v1/recordings/${id}` }, [204, 404]);
  }

  async get(path, expected = [200]) {
    return await this.insist({ method: 'GET', path }, expected);
  }

  async post(path, value) {
    const body = Buffer.from(JSON.stringify(value));
    return await this.insist({ method: 'POST', path, headers: { 'Content-Type': 'application/json' }, body }, [201]);
  }

  /** Repeats until the answer is an expected one. @throws UnexpectedAnswerError for any other but "later" */
  async insist(call, expected) {
    for (let attempts = 1; Date.now() < this.deadline(); attempts++) {
      const at = Date.now();
      const answer = await this.#send(call).catch(() => null);
      this.onAttempt({ at, ms: Date.now() - at, status: answer?.status ?? null });
      if (answer && expected.includes(answer.status)) return { ...answer, attempts };
      if (answer && !this.later.includes(answer.status)) {
        throw new UnexpectedAnswerError(`${call.method} ${call.path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      this.unanswered += 1;
      await sleep(AGAIN_MS);
    }
    return null;
  }

  async #send({ method, path, headers = {}, body = Buffer.alloc(0), slow = false }) {
    const answer = await request(this.anyUrl() + path, {
      method,
      headers: { ...this.headers, ...headers, 'Content-Length': `${body.length}` },
      body: slow ? Readable.from(dripping(body)) : body,
      // A connection of its own, as the process may be gone before the next request.
      reset: true,
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: ANSWER_TIMEOUT_MS,
    });
    const text = await answer.body.text();
    const isJson = answer.headers['content-type']?.startsWith('application/json');
    return { status: answer.statusCode, body: isJson ? JSON.parse(text) : text };
  }
}

async function* dripping(body) {
  const size = Math.ceil(body.length / SLOW_STEPS);
  for (let at = 0; at < body.length; at += size) {
    yield body.subarray(at, at + size);
    await sleep(SLOW_STEP_MS);
  }
}

function formOf(name, file) {
  const head =
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="custom_tags"\r\n\r\n${JSON.stringify({ upload: name })}\r\n` +
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${file.name}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), file.bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
}
