import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { receiveEvents } from '../bench/lib/receivers.mjs';
import { SHORT_RECORDING } from '../bench/lib/transcriptions.mjs';
import { formOf, post } from '../bench/lib/uploads.mjs';
import { STOP_MS } from './setup.mjs';

const READERS = 4;

/** Reads and uploads at a constant rate, each request to the next process. Nothing is repeated. */
export class Load {
  requests = 0;
  failures = [];
  uploads = [];
  #stopped = false;
  #loops = [];

  /** @param members to which requests go in turn @param undo gets what ends it */
  static async start(members, headers, undo, { uploadEveryMs = 1000 } = {}) {
    const load = new Load();
    Object.assign(load, { members: [...members], headers, uploadEveryMs, receiver: await receiveEvents() });
    undo.push(() => load.receiver.close());
    const body = JSON.stringify({ url: load.receiver.url, events: ['recording.transcribed', 'recording.failed'] });
    await load.#request('/v1/webhooks', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    load.#loops = [...Array.from({ length: READERS }, (_, i) => load.#read(i)), load.#upload()];
    return load;
  }

  undelivered() {
    return this.uploads.filter((id) => !this.receiver.arrivals.has(id)).length;
  }

  /** Sends it no more requests, and stops it when it has answered those that it has. */
  async without(member) {
    this.members = this.members.filter((other) => other !== member);
    await sleep(1000);
    await member.stop(STOP_MS);
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #read(first) {
    const paths = [
      '/v1/recordings',
      '/v1/recordings?status=transcribed',
      '/v1/account/usage',
      '/v1/events',
      '/v1/account',
    ];
    for (let i = first; !this.#stopped; i++) {
      await this.#request(paths[i % paths.length]);
      await sleep(20);
    }
  }

  async #upload() {
    const body = formOf(readFileSync(SHORT_RECORDING));
    while (!this.#stopped) {
      const answer = await this.#counted('POST /v1/recordings', (url) =>
        post(`${url}/v1/recordings`, { headers: this.headers, body }),
      );
      if (answer?.status === 201) this.uploads.push(JSON.parse(answer.body).id);
      await sleep(this.uploadEveryMs);
    }
  }

  #request(path, { headers, ...options } = {}) {
    return this.#counted(path, async (url) => {
      const response = await fetch(url + path, { ...options, headers: { ...this.headers, ...headers } });
      return { status: response.status, body: await response.text() };
    });
  }

  async #counted(what, send) {
    const member = this.members[this.requests++ % this.members.length];
    const answer = await send(member.url).catch((error) => ({ status: 0, body: `${error.cause ?? error}` }));
    if (answer.status < 200 || answer.status > 299)
      this.failures.push(`${member.name} ${what}: ${answer.status} ${answer.body}`);
    return answer;
  }
}
