import type { ServerResponse } from 'node:http';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { ConnectProxy } from '../../support/servers/connect-proxy.js';
import { LinkSource } from '../../support/servers/link-source.js';
import { useFleet } from '../../support/service/fleet.js';

const WAV = silenceWav(0.1);

describe('while the proxy of EGRESS_PROXY_URL is out of order (0048)', () => {
  const api = useService({ ROLES: 'api' });
  const { environment } = api;
  const fleet = useFleet({ environment });

  it('deliveries and links wait without an attempt that counts, and go on when it is back', async () => {
    const client = await api.account();
    const [receiver, source] = [await fleet.receiver(), await LinkSource.listen()];
    let proxy = await ConnectProxy.start('service:secret');
    const { port } = proxy;
    fleet.defer(() => Promise.all([proxy.close(), source.close()]));
    const { body: webhook } = await client
      .post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] })
      .expect(201);
    await proxy.close();

    const settings = {
      LOG_LEVEL: 'info',
      RECONCILE_SECONDS: '1',
      EGRESS_PROXY_URL: `http://service:secret@127.0.0.1:${port}`,
    };
    const worker = await fleet.process('worker', settings);
    const { body: recording } = await client.upload(WAV).expect(201);
    await client.finished(recording.id as string);
    const url = source.serve('/note.wav', (_, response: ServerResponse) => void response.end(WAV));
    const { body: linked } = await client.post('/v1/recordings', { url }).expect(201);

    const failures = (): number => worker.log().split('egress proxy failed').length - 1;
    await eventually(() => failures() > 0);
    const linkFailures = (): number => worker.log().split('link not stored').length - 1;
    await eventually(() => linkFailures() > 0);
    // More rounds of the reconciler, each of which tries.
    const counted = async (): Promise<number> => {
      const metrics = await fetch(`${worker.url}/metrics`).then((response) => response.text());
      return Number(/^egress_proxy_failures_total\{failure="unreachable"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
    };
    await eventually(async () => (await counted()) >= 4);
    expect(failures()).toBe(1);
    expect(worker.log()).not.toContain('service:secret');
    const [row] = await api.database.query<object>(
      `SELECT d.status, d.attempts <= 1 AS few, d.last_error AS "lastError", w.consecutive_failures AS failures,
         w.failing_since AS since, (SELECT count(*)::int FROM delivery_attempts a WHERE a.delivery_id = d.id) AS logged
       FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE w.id = $1`,
      [webhook.id],
    );
    expect(row).toEqual({ status: 'pending', few: true, lastError: null, failures: 0, since: null, logged: 0 });
    const [link] = await api.database.query<object>('SELECT attempt FROM recording_links WHERE recording_id = $1', [
      linked.id,
    ]);
    expect(link).toEqual({ attempt: 0 });

    proxy = await ConnectProxy.start('service:secret', { port });
    await receiver.waitFor(({ length }) => length >= 1);
    await client.finished(linked.id as string);
    await receiver.waitFor(({ length }) => length === 2);
    expect(receiver.requests.map(({ headers }) => headers['x-service-delivery-attempt'])).toEqual(['1', '1']);
    expect(new Set(proxy.hosts)).toEqual(new Set([new URL(receiver.url()).host, new URL(url).host]));
    expect(worker.log()).toContain('egress proxy works again');
  });
});
