import { type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { BuiltVnotes, resultOf, type VnotesUser } from '../support/cli/vnotes.js';

const NAME = 'go-forward-ten-meters.wav';

interface Received {
  event_id: string;
  attempt: number;
  signature: string;
  body: { event: string; recording?: { id: string; custom_tags: object } };
}

describe('vnotes webhooks', () => {
  const service = useService();
  const vnotes = BuiltVnotes.use();
  const personOf = async (): Promise<{ client: ApiClient; user: VnotesUser }> => {
    const client = await service.account();
    return { client, user: await vnotes.user(client) };
  };
  const webhooksOf = async (client: ApiClient): Promise<{ id: string; url: string; events: string[] }[]> => {
    const { body } = await client.get('/v1/webhooks').expect(200);
    return (body as { webhooks: { id: string; url: string; events: string[] }[] }).webhooks;
  };
  const leftovers = ({ home }: VnotesUser) => readdir(join(home, '.local/state/vnotes/listeners'));
  /** Resolves when the listener has its test event. */
  const listening = async (child: ChildProcess): Promise<void> => {
    if (!child.stdout) throw new Error('no standard output');
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('webhook.test')) return;
  };

  it('listen prints a signed event, refuses a forged one, and removes its webhook', async () => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen', '--json', '--count', '1', '--events', 'recording.transcribed');
    const lines: Received[] = [];
    const result = resultOf(child);
    child.stdout?.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trimEnd().split('\n')) lines.push(JSON.parse(line) as Received);
    });
    await eventually(() => lines.length > 0);
    const [webhook] = await webhooksOf(client);
    expect(webhook).toMatchObject({ events: ['recording.transcribed'] });
    const url = webhook?.url ?? '';

    const body = JSON.stringify({ event: 'recording.transcribed', recording: { id: 'forged' } });
    const signature = `sha256=${createHmac('sha256', 'guess').update(body).digest('hex')}`;
    const forged = await fetch(url, { method: 'POST', body, headers: { 'X-Service-Signature': signature } });
    expect(forged.status).toBe(401);
    expect((await fetch(new URL('/', url))).status).toBe(404);

    const { body: recording } = await client.upload(NAME, { custom_tags: '{"order":"A-1"}' }).expect(201);
    const { code, stderr } = await result;
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Warning: A request was refused.'),
    });
    expect(lines.map((line) => line.body.event)).toEqual(['webhook.test', 'recording.transcribed']);
    expect(lines[1]).toMatchObject({
      signature: 'valid',
      attempt: 1,
      event_id: expect.any(String),
      body: { recording: { id: (recording as { id: string }).id, custom_tags: { order: 'A-1' } } },
    });
    expect(await webhooksOf(client)).toEqual([]);
    expect(await leftovers(user)).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('listen removes its webhook on %s', async (signal, code) => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen');
    const result = resultOf(child);
    await listening(child);
    expect(await webhooksOf(client)).toHaveLength(1);
    child.kill(signal);
    expect(await result).toMatchObject({ code, stderr: expect.stringContaining('The webhook is removed.') });
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen removes its webhook when it is stopped while it creates it', async () => {
    const { client, user } = await personOf();
    const child = user.start('webhooks', 'listen');
    const result = resultOf(child);
    await eventually(async () => (await leftovers(user).catch(() => [])).length > 0);
    child.kill('SIGTERM');
    expect(await result).toMatchObject({ code: 143 });
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen removes what a killed run has left, and not what a living one uses', async () => {
    const { client, user } = await personOf();
    const [killed, living] = [user.start('webhooks', 'listen'), user.start('webhooks', 'listen')];
    const [, livingResult] = [resultOf(killed), resultOf(living)];
    await Promise.all([listening(killed), listening(living)]);
    expect(await webhooksOf(client)).toHaveLength(2);
    killed.kill('SIGKILL');
    await eventually(() => killed.signalCode !== null);
    const next = user.start('webhooks', 'listen');
    const nextResult = resultOf(next);
    await listening(next);
    expect(await webhooksOf(client)).toHaveLength(2);
    next.kill('SIGINT');
    expect((await nextResult).stderr).toContain('Removed 1 webhook(s) that a killed run had left.');
    living.kill('SIGINT');
    await livingResult;
    expect(await webhooksOf(client)).toEqual([]);
  });

  it('listen forwards events with their headers to an own server', async () => {
    const { client, user } = await personOf();
    const own = await WebhookReceiver.listen();
    const child = user.start('webhooks', 'listen', '--forward', own.url(), '--count', '1');
    const result = resultOf(child);
    await own.waitFor((seen) => seen.length === 1);
    await client.upload(NAME).expect(201);
    const [, event] = await own.waitFor((seen) => seen.length === 2);
    expect(event?.headers).toMatchObject({ 'x-service-signature': expect.stringMatching(/^sha256=/) });
    expect(await result).toMatchObject({ code: 0, stdout: expect.stringContaining('→ 200') });
    await own.close();
  });

  it('listen says what to do where the service sends to no such address', async () => {
    const strict = await startService(service.environment, { WEBHOOK_ALLOWED_CIDRS: '' });
    const client = await strict.account();
    const refused = await (await vnotes.user(client)).run('webhooks', 'listen');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/WEBHOOK_ALLOWED_CIDRS=127\.0\.0\.0\/8,::1\/128.*--public-url/),
    });
    // A tunnel that leads nowhere is found by the test event.
    const args = ['webhooks', 'listen', '--public-url', 'https://tunnel.example', '--port', '18789'];
    const unreachable = await (await vnotes.user(client)).run(...args);
    expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot deliver to this machine') });
    expect(await webhooksOf(client)).toEqual([]);
    await strict.close();
  });

  it('creates, lists, tests, shows deliveries, sends again and deletes', async () => {
    const { client, user } = await personOf();
    const receiver = await WebhookReceiver.listen();
    const made = await user.json<{ id: string; secret: string }>('webhooks', 'create', receiver.url());
    expect(made.secret).toMatch(/^whsec_/);
    expect((await user.run('webhooks', 'list')).stdout).toContain(`${made.id}  active`);
    expect(await user.run('webhooks', 'test', made.id)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Arrived'),
    });

    const { body } = await client.upload(NAME).expect(201);
    await client.finished((body as { id: string }).id);
    const rows = await eventually(async () => {
      const { deliveries } = await user.json<{ deliveries: { id: string; status: string }[] }>(
        ...['webhooks', 'deliveries', made.id, '--status', 'delivered'],
      );
      return deliveries.length === 1 && deliveries;
    });
    const [delivery] = rows;
    const shown = await user.run('webhooks', 'deliveries', made.id, delivery?.id ?? '');
    expect(shown.stdout).toMatch(/Attempt 1 .* 200 .*ms\nBody +\{"event":"recording\.transcribed"/);
    expect(await user.run('webhooks', 'redeliver', made.id, delivery?.id ?? '')).toMatchObject({ code: 0 });
    expect(await user.json('webhooks', 'redeliver', made.id, '--status', 'failed')).toMatchObject({ count: 0 });
    await receiver.waitFor((seen) => seen.length === 3);

    await receiver.close();
    const away = await user.run('webhooks', 'test', made.id);
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('No answer (connect)') });
    expect(await user.run('webhooks', 'delete', made.id, '--yes')).toMatchObject({ code: 0 });
    expect(await webhooksOf(client)).toEqual([]);
  });
});
