import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../lib/load.mjs';
import { receiveEvents } from '../lib/receivers.mjs';
import { bareEngine, SHORT_RECORDING, upload, warmUp } from '../lib/transcriptions.mjs';

const POLL_MS = 2;

/** One recording of 3 s on an idle system: what the service adds to decoding and transcribing it. */
export async function measureLatency(stage, { pairs }) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const receiver = await receiveEvents();
  await fetch(`${service.url}/v1/webhooks`, {
    method: 'POST',
    headers: { ...account.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events: ['recording.transcribed'] }),
  });
  await warmUp(stage, service, account);
  const added = [];
  const eventAfter = [];
  for (let i = 0; i < pairs * 2; i++) {
    const { seconds } = await bareEngine([SHORT_RECORDING]);
    const started = Date.now();
    const id = await upload(service, account, SHORT_RECORDING);
    while (!receiver.arrivals.has(id)) await sleep(POLL_MS);
    const [{ processed_at: processedAt }] = await stage.sql('SELECT processed_at FROM recordings WHERE id = $1', [id]);
    added.push(processedAt.getTime() - started - seconds * 1000);
    eventAfter.push(receiver.arrivals.get(id) - processedAt.getTime());
  }
  receiver.close();
  return [
    {
      what: 'a recording of 3 s: ms until transcribed, beyond ffmpeg and engine',
      value: median(added),
      target: 150,
      atMost: true,
      figures: '',
    },
    { what: 'its event: ms until the first attempt', value: median(eventAfter), target: 50, atMost: true, figures: '' },
  ];
}
