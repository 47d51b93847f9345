import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

import { freePort } from '../../scripts/lib/ports.mjs';
import { waitUntil } from '../../scripts/lib/processes.mjs';
import { UserError } from '../../scripts/lib/steps.mjs';

/** What is drained must be idle after this long. */
const DRAIN_MS = 30_000;

/** HAProxy, as it stands in front of the API. It keeps connections on both sides, and repeats no request. */
export class FrontProxy {
  #socket;
  #child;

  /** @param {{ folder: string, slots: string[] }} options one slot for each process behind it @param undo gets what ends it */
  static async start({ folder, slots }, undo) {
    const proxy = new FrontProxy();
    const port = await freePort();
    proxy.#socket = join(folder, 'haproxy.sock');
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, configuration(port, proxy.#socket, slots));
    proxy.#child = spawn('haproxy', ['-db', '-f', file], {
      stdio: ['ignore', 'ignore', openSync(join(folder, 'haproxy.log'), 'a')],
    });
    const failed = once(proxy.#child, 'error').then(([error]) =>
      Promise.reject(new UserError(`haproxy: ${error.code}`)),
    );
    undo.push(() => proxy.#child.kill());
    const isUp = waitUntil(() => proxy.#ask('show info').then(Boolean, () => false), 10_000);
    if (!(await Promise.race([isUp, failed]))) throw new UserError('haproxy did not start');
    failed.catch(() => undefined);
    proxy.url = `http://127.0.0.1:${port}`;
    return proxy;
  }

  /** Sends requests to a process from now on. */
  async add(slot, { url }) {
    await this.#change(slot, `addr 127.0.0.1 port ${new URL(url).port}`);
    await this.#change(slot, 'state ready');
    if (!(await waitUntil(async () => (await this.#stateOf(slot)).status === 'UP', 10_000, 50)))
      throw new UserError(`haproxy does not find ${slot} ready`);
  }

  /** Sends no more requests there. @returns when the last one is answered */
  async drain(slot) {
    await this.#change(slot, 'state drain');
    if (!(await waitUntil(async () => (await this.#stateOf(slot)).sessions === 0, DRAIN_MS, 20)))
      throw new UserError(`${slot} does not become idle`);
  }

  /** Takes out what is gone. */
  async remove(slot) {
    await this.#change(slot, 'state maint');
  }

  async #change(slot, to) {
    const answer = (await this.#ask(`set server api/${slot} ${to}`)).trim();
    if (answer !== '' && !answer.includes('changed from') && !answer.includes('no need to change'))
      throw new UserError(`haproxy: ${answer}`);
  }

  async #stateOf(slot) {
    const [head, ...lines] = (await this.#ask('show stat')).replace(/^# /, '').trim().split('\n');
    const names = head.split(',');
    const rows = lines.map((line) => Object.fromEntries(line.split(',').map((value, i) => [names[i], value])));
    const row = rows.find(({ pxname, svname }) => pxname === 'api' && svname === slot);
    return { status: row.status, sessions: Number(row.scur) };
  }

  async #ask(command) {
    const socket = connect(this.#socket);
    socket.end(`${command}\n`);
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
    return text;
  }
}

const configuration = (port, socket, slots) => `
global
  stats socket ${socket} mode 600 level admin
defaults
  mode http
  timeout connect 2s
  timeout check 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  retries 0
frontend front
  bind 127.0.0.1:${port}
  default_backend api
backend api
  balance roundrobin
  http-reuse always
  option httpchk GET /health/ready
  http-check expect status 200
  default-server inter 500ms fall 3 rise 1 disabled
${slots.map((slot) => `  server ${slot} 127.0.0.1:1 check`).join('\n')}
`;
