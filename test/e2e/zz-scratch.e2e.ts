import { type Ground, prepareGround, type Service, startService } from '../support/service.js';
import { RawConnection, head, chunk } from '../support/raw-http.js';
import { FORM_TYPE, form, filePart, textPart, part, BOUNDARY } from '../support/multipart.js';
import { traces } from '../support/traces.js';
import { silenceWav } from '../support/audio-bytes.js';
import type { Caller } from '../support/caller.js';
import { setTimeout as delay } from 'node:timers/promises';
jest.setTimeout(200_000);
describe('scratch', () => {
  let ground: Ground; let service: Service; let caller: Caller;
  beforeAll(async () => { ground = await prepareGround(); service = await startService(ground, { ROLES: 'api', UPLOAD_TIMEOUT_SECONDS: '3' }); caller = await service.account(); });
  afterAll(async () => { await service.close(); await ground.clear(); });
  const auth = () => Object.entries(caller.headers) as [string, string][];
  async function raw(name: string, bytes: (Buffer|string)[], opts: {wait?: number, noauth?: boolean} = {}) {
    const c = await RawConnection.open(service.url);
    for (const b of bytes) await c.send(b);
    let out: string;
    try { const a = await c.answer(opts.wait ?? 4000); out = `${a.status} ${a.afterMs.toFixed(0)}ms lim=${a.headers['x-ratelimit-limit']} ${a.body.slice(0,160)}`; } catch (e) { out = String(e).slice(0,200); }
    const closed = await Promise.race([c.closed, delay(1500)]);
    console.log(name, '=>', out, 'closed', closed, 'rest', JSON.stringify(c.unread.slice(0,100)));
    c.destroy();
  }
  const up = (body: Buffer, extra: [string,string][] = []) => [head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', body.length], ...extra]), body];
  it('explores', async () => {
    await raw('plain', up(form(filePart(silenceWav(0.1)))));
    process.on('uncaughtException', (e) => console.log('UNCAUGHT', e.stack));
    await raw('9k header', [head('GET', '/v1/account', [...auth(), ['X-Big', 'a'.repeat(9000)]])]);
    await raw('200k header', [head('GET', '/v1/account', [...auth(), ['X-Big', 'a'.repeat(200000)]])]);
    await raw('no host', [`GET /v1/account HTTP/1.1\r\n\r\n`]);
    await raw('http1.0', [`GET /v1/account HTTP/1.0\r\n\r\n`]);
    await raw('expect', [head('GET', '/v1/account', [...auth(), ['Expect', 'bogus']])]);
    await raw('absolute', [head('GET', 'http://voice-notes.test/v1/account', [...auth()])]);
    await raw('absolute unknown', [head('GET', 'http://voice-notes.test/v1/nothing', [...auth()])]);
    await raw('absolute bad', [head('GET', 'http://[::1/v1/nothing', [...auth()])]);
    await raw('absolute bad2', [head('GET', 'http://a b', [...auth()])]);
    await raw('star', [head('GET', '*', [...auth()])]);
    await raw('options star', [head('OPTIONS', '*', [...auth()])]);
    await raw('dbl slash', [head('GET', '//v1/account', [...auth()])]);
    await raw('%ff', [head('GET', '/v1/recordings/%ff', [...auth()])]);
    await raw('%ff top', [head('GET', '/v1/%ff', [...auth()])]);
    await raw('%ff out', [head('GET', '/%ff', [...auth()])]);
    await raw('connect', [head('CONNECT', 'a:1', [...auth()])]);
    await raw('trace', [head('TRACE', '/v1/account', [...auth()])]);
    await raw('upgrade', [head('GET', '/v1/account', [...auth(), ['Connection', 'Upgrade'], ['Upgrade', 'websocket']])]);
    await raw('bare LF', [`GET /v1/account HTTP/1.1\nHost: a\n\n`]);
    await raw('folded', [`GET /v1/account HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n`]);
    await raw('nul', [`GET /v1/account HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n`]);
    const b = form(filePart(silenceWav(0.1)));
    await raw('CL smaller', [head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', b.length - 200]]), b]);
    await raw('CL+TE', [head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', b.length], ['Transfer-Encoding', 'chunked']]), chunk(b), chunk(Buffer.alloc(0))]);
    await raw('2 CL', [head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', b.length], ['Content-Length', b.length]]), b]);
    await raw('CL larger', [head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', b.length+100]]), b], {wait: 8000});
    console.log(await traces(service, ground));
    await raw('charset', up(form(filePart(silenceWav(0.1)), part(['Content-Disposition: form-data; name="custom_tags"', 'Content-Type: text/plain; charset=shift_jis'], '{"a":"b"}'))));
    await raw('header 70k', up(form(part(['Content-Disposition: form-data; name="file"; filename="a"', `X-A: ${'a'.repeat(70000)}`], silenceWav(0.1)))));
    await raw('empty boundary', [head('POST', '/v1/recordings', [...auth(), ['Content-Type', 'multipart/form-data; boundary=""'], ['Content-Length', b.length]]), b]);
    await raw('no disposition', up(form(part(['X-A: b'], 'hello'), filePart(silenceWav(0.1)))));
    await raw('100k fields', up(form(...Array.from({length: 20000}, (_, i) => textPart(`f${i}`, 'v')))));
    await raw('nameless file', up(form(part(['Content-Disposition: form-data; filename="a.wav"'], silenceWav(0.1)))));
    console.log(await traces(service, ground));
  });
  it('aborts at once', async () => {
    for (let i = 0; i < 5; i++) {
      const c = await RawConnection.open(service.url);
      await c.send(head('POST', '/v1/recordings', [...auth(), ['Content-Type', FORM_TYPE], ['Content-Length', 1000]]));
      c.destroy();
    }
    await delay(3000);
    console.log(await traces(service, ground));
    process.on('uncaughtException', (e) => console.log('UNCAUGHT', e.stack));
    await raw('nameless', up(form(part(['Content-Disposition: form-data'], 'hello'), filePart(silenceWav(0.1)))));
  });
});
