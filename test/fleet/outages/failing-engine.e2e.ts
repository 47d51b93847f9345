import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestService } from '../../../src/testing/test-service.js';
import type { TcpProxy } from '../../support/servers/tcp-proxy.js';
import { engineExtension } from '../../support/service/test-engines.js';
import { rowOf, useFleet } from '../../support/service/fleet.js';

const LEASE_SECONDS = 2;
const AUDIO = 'go-forward-ten-meters.wav';

/** What the engine does with the next chunks. */
let answer: () => Promise<string> = () => Promise.resolve('a text');
let calls = 0;

const engine = engineExtension('scripted', {
  transcribe: async () => {
    calls += 1;
    const text = await answer();
    return { text, confidence: 0.75, language: 'english', words: [{ word: text, start: 0, end: 1, confidence: 1 }] };
  },
});
const fleet = useFleet({ extensions: [engine] });
const ENGINE = { TRANSCRIPTION_ENGINE: 'scripted', LEASE_SECONDS: String(LEASE_SECONDS) };
let proxy: TcpProxy;
let desk: TestService;
let client: ApiClient;

beforeAll(async () => {
  proxy = await fleet.proxyTo('DATABASE_URL');
  desk = await fleet.service('api');
  await fleet.service('worker', { ...ENGINE, DATABASE_URL: proxy.url });
  client = await desk.account();
});

async function uploaded(): Promise<string> {
  const { body } = await client.upload(AUDIO).expect(201);
  return body.id;
}

const textOf = async (id: string): Promise<{ text: string; words: string }> =>
  (await client.get(`/v1/recordings/${id}/transcription`).expect(200)).body;

describe('an engine whose text Postgres would refuse', () => {
  it('costs no attempt: NUL is dropped, and a lone surrogate replaced', async () => {
    answer = () => Promise.resolve('one\u0000 \ud800two');
    const id = await uploaded();
    expect(await client.finished(id)).toMatchObject({ status: 'transcribed' });
    expect(await rowOf(desk, id)).toMatchObject({ attempt: 1 });
    const { text, words } = await textOf(id);
    expect(text).toBe('one \ufffdtwo');
    expect(JSON.parse(words)).toMatchObject([{ word: 'one \ufffdtwo' }]);
  });
});

describe('Postgres, silent for longer than a lease', () => {
  it.each(['cut', 'freeze'] as const)('(%s) costs no finished transcript: it is saved afterwards', async (how) => {
    let finish!: (text: string) => void;
    calls = 0;
    answer = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const id = await uploaded();
    await eventually(() => calls === 1);
    await proxy[how]();
    await delay(500);
    finish('a long text');
    await delay(2 * LEASE_SECONDS * 1000);
    expect((await rowOf(desk, id)).delay).toBeLessThan(0);
    answer = () => Promise.resolve('another text');
    await proxy.mend();
    expect(await client.finished(id)).toMatchObject({ status: 'transcribed' });
    expect((await textOf(id)).text).toBe('a long text');
    expect(await rowOf(desk, id)).toMatchObject({ attempt: 1 });
  });
});
