import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** The service's public API, as far as a first try of it needs. */
export class Client {
  /** @param {{ baseUrl: string, apiKey: string, apiSecret: string }} options */
  constructor({ baseUrl, apiKey, apiSecret }) {
    this.baseUrl = baseUrl;
    this.headers = { 'X-Service-API-Key': apiKey, 'X-Service-API-Secret': apiSecret };
  }

  account() {
    return this.#call('/v1/account');
  }

  createSignInCode() {
    return this.#call('/v1/account/sign-in-codes', { method: 'POST' });
  }

  upload(file, idempotencyKey) {
    const body = new FormData();
    body.set('file', new Blob([readFileSync(file)]), basename(file));
    const headers = idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {};
    return this.#call('/v1/recordings', { method: 'POST', body, headers });
  }

  transcription(recordingId) {
    return this.#call(`/v1/recordings/${recordingId}/transcription`);
  }

  createWebhook(webhook) {
    const headers = { 'Content-Type': 'application/json' };
    return this.#call('/v1/webhooks', { method: 'POST', body: JSON.stringify(webhook), headers });
  }

  async #call(path, { headers, ...init } = {}) {
    const response = await fetch(this.baseUrl + path, {
      ...init,
      headers: { ...this.headers, ...headers },
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    return { status: response.status, body: parse(text) };
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
