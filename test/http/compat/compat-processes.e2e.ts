import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIError } from 'openai';
import { eventually } from '../../../src/testing/eventually.js';
import { SPEECH } from '../../../src/testing/speech.js';
import { useService } from '../../../src/testing/test-service.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { ServiceProcess } from '../../support/service/service-process.js';

const NOTE = join(SPEECH, 'go-forward-ten-meters.wav');
const LONG_NOTE = join(SPEECH, 'jfk.wav');

/** One of the processes that serve: it holds no request of those that end. */
const service = useService({ ROLES: 'api' });
const { environment } = service;
const started: ServiceProcess[] = [];

afterAll(() => Promise.all(started.map((instance) => instance.end('SIGKILL'))));

async function start(roles: string): Promise<ServiceProcess> {
  const instance = await ServiceProcess.start(environment, roles);
  started.push(instance);
  return instance;
}

describe('the openai package, against processes of the built service with PocketSphinx', () => {
  it('finds its note again after a kill and after a stop, and hears it from another process', async () => {
    const [killed, stopped] = await Promise.all([start('api'), start('api')]);
    const owner = await service.account();
    const { key, secret } = owner.credentials;
    const ask = (url: string, file: string, options: object = {}) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: `${key}.${secret}`, maxRetries: 0 }).audio.transcriptions.create({
        file: createReadStream(file),
        model: 'whisper-1',
        ...options,
      });
    const recordings = async () => (await owner.get('/v1/recordings').expect(200)).body.recordings as { id: string }[];

    // Nobody transcribes yet.
    const lost = ask(killed.url, NOTE).catch((error: Error) => error);
    await eventually(async () => (await recordings()).length === 1);
    await killed.end('SIGKILL');
    expect(await lost).toBeInstanceOf(OpenAI.APIConnectionError);

    const ended = ask(stopped.url, NOTE).catch((error: APIError) => error);
    await eventually(async () => /compat_waiting_requests 1$/m.test(await metricsOf(stopped)));
    const { code, ms } = await stopped.end('SIGTERM');
    reportMeasurement(`an API process with a waiting request ended after ${ms} ms`);
    const refusal = (await ended) as APIError;
    expect([refusal.status, refusal.code, refusal.headers?.get('retry-after'), code]).toEqual([
      503,
      'service_unavailable',
      '1',
      0,
    ]);

    const text = ask(service.url, NOTE, { response_format: 'text' });
    const stream = ask(service.url, LONG_NOTE, { stream: true }) as unknown as Promise<
      AsyncIterable<{ type: string; delta?: string; text?: string }>
    >;
    await start('transcriber');
    expect(await text).toBe('go forward ten meters\n');
    const events: { type: string; delta?: string; text?: string }[] = [];
    for await (const event of await stream) events.push(event);
    const done = events.pop();
    expect(done?.text).toMatch(/can do for your country$/);
    expect(events.map(({ delta }) => delta).join('')).toBe(done?.text);
    expect(await recordings()).toHaveLength(2);
    const { body } = await owner.get('/v1/account').expect(200);
    expect(body.usage.current_month.recordings_count).toBe(2);
  });

  const metricsOf = async ({ url }: ServiceProcess): Promise<string> => await (await fetch(`${url}/metrics`)).text();
});
