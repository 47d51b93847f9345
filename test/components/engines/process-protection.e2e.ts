import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../support/paths.js';

const run = promisify(execFile);
const fixture = (name: string): Buffer => readFileSync(path.join(ROOT, 'test/fixtures/tls', name));

/** Runs a script as a process of its own: under Jest, changes of the environment do not reach Node. Needs `nest build`. */
async function runScript(script: string, env: Record<string, string> = {}): Promise<unknown> {
  const args = ['--no-warnings', '--input-type=module', '--eval', script];
  const { stdout } = await run(process.execPath, args, { cwd: ROOT, env: { PATH: process.env.PATH, ...env } });
  return JSON.parse(stdout);
}

const imported = (file: string): string => JSON.stringify(new URL(`file://${ROOT}/dist/${file}`).href);

describe('the check of certificates', () => {
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer({ key: fixture('key.pem'), cert: fixture('certificate.pem') }, (_, response) =>
      response.end('{}'),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('of webhooks, transcription servers and S3 is not switched off by NODE_TLS_REJECT_UNAUTHORIZED', async () => {
    const script = `
      import { Client, Agent } from 'undici';
      import { checkedConnector } from ${imported('platform/http/outgoing/checked-connector.js')};
      import { OpenAiClient } from ${imported('modules/transcriptions/engines/openai/openai.client.js')};
      import { S3ObjectStore } from ${imported('platform/storage/s3.object-store.js')};
      import { AllowedNetworks } from ${imported('platform/http/outgoing/address-rules.js')};
      import { Egress } from ${imported('platform/http/outgoing/egress.js')};
      const [url, egress] = [${JSON.stringify(url)}, new Egress()];
      const signal = AbortSignal.timeout(5000);
      const outcome = (promise) => promise.then(() => 'connected', (error) => {
        for (let cause = error; cause; cause = cause.cause) if (cause.code) return cause.code;
        return error.message;
      });
      const webhooks = new Client(url, {
        connect: checkedConnector({ allowed: new AllowedNetworks(['127.0.0.0/8']), resolve: async () => [], nameErrorMs: 1, signal, egress }),
      });
      const s3 = { s3Endpoint: url, s3Region: 'us-east-1', s3Bucket: 'b', s3AccessKeyId: 'k', s3SecretAccessKey: 's' };
      const engine = new OpenAiClient(url, null, 1, { egress });
      const results = {
        anything: await outcome(new Client(url).request({ path: '/', method: 'GET' })),
        webhook: await outcome(webhooks.request({ path: '/', method: 'GET' })),
        engine: await outcome(engine.get('/models', { limitMs: 5000 })),
        s3: await outcome(new S3ObjectStore(s3, null).check()),
      };
      console.log(JSON.stringify(results));
      process.exit();`;
    const refused = expect.stringMatching(/SELF_SIGNED|UNABLE_TO_VERIFY|unable to verify|self-signed/i);
    const results = await runScript(script, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    expect(results).toEqual({ anything: 'connected', webhook: refused, engine: refused, s3: refused });
  });

  it('is on again for every other connection after the boot', async () => {
    const script = `
      import { Client } from 'undici';
      import { protectProcess } from ${imported('platform/config/process-protection.js')};
      protectProcess();
      const request = new Client(${JSON.stringify(url)}).request({ path: '/', method: 'GET' });
      console.log(JSON.stringify(await request.then(() => 'connected', (error) => error.code)));
      process.exit();`;
    expect(await runScript(script, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
  });
});

(process.platform === 'linux' ? describe : describe.skip)('a process of any role', () => {
  it('cannot be inspected by others of its user', async () => {
    const script = `
      import koffi from 'koffi';
      import { protectProcess } from ${imported('platform/config/process-protection.js')};
      protectProcess();
      const PR_GET_DUMPABLE = 3;
      console.log(koffi.load(null).func('int prctl(int option, unsigned long value)')(PR_GET_DUMPABLE, 0));`;
    expect(await runScript(script)).toBe(0);
  });
});
