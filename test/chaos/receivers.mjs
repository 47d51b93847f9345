import { once } from 'node:events';
import { createServer } from 'node:http';
import { randomFrom } from './plan.mjs';

/** How receivers misbehave: shares of all attempts. */
const MANNERS = [
  { share: 0.3, answer: '500' },
  { share: 0.1, answer: 'hang' },
  { share: 0.05, answer: 'drop' },
];

/**
 * Receivers of webhooks, told apart by their path, with bad manners and a log.
 * @typedef {{ webhook: string, headers: import('node:http').IncomingHttpHeaders, body: Buffer, at: number,
 *   answer: 'ok' | '500' | 'hang' | 'drop', acknowledged: boolean }} Arrival
 */
export class Receivers {
  /** @type {Arrival[]} */
  log = [];
  #server = createServer((request, response) => void this.#receive(request, response));
  #hangSeconds;
  #random;
  #manners;
  #onChange;

  /**
   * @param {number} hangSeconds how long a receiver keeps a request before it closes the connection without an answer
   * @param {{ manners?: typeof MANNERS, onChange?: (arrival: Arrival) => void }} options onChange: after it came, and
   *   after it was acknowledged
   */
  constructor(seed, hangSeconds = Infinity, { manners = MANNERS, onChange = () => undefined } = {}) {
    this.#hangSeconds = hangSeconds;
    this.#manners = manners;
    this.#onChange = onChange;
    this.#random = randomFrom(`receivers ${seed}`);
  }

  async listen(port = 0, host = '127.0.0.1') {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return this;
  }

  url(name) {
    return `http://127.0.0.1:${this.#server.address().port}/${name}`;
  }

  async close() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(request, response) {
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // The sender died in the middle of it.
    }
    const arrival = {
      webhook: request.url.slice(1),
      headers: request.headers,
      body: Buffer.concat(chunks),
      at: Date.now(),
      answer: this.#manner(),
      acknowledged: false,
    };
    this.log.push(arrival);
    this.#onChange(arrival);
    if (arrival.answer === 'drop') request.socket.destroy();
    if (arrival.answer === 'hang' && this.#hangSeconds < Infinity) {
      setTimeout(() => request.socket.destroy(), this.#hangSeconds * 1000);
    }
    if (arrival.answer === '500') response.writeHead(500).end();
    if (arrival.answer === 'ok') response.writeHead(204).end(() => this.#acknowledge(arrival));
  }

  #acknowledge(arrival) {
    arrival.acknowledged = true;
    this.#onChange(arrival);
  }

  #manner() {
    let chance = this.#random();
    for (const { share, answer } of this.#manners) {
      if (chance < share) return answer;
      chance -= share;
    }
    return 'ok';
  }
}
