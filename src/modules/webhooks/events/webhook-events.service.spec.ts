import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { EventSignalsService } from '../feed/event-signals.service.js';
import { CreateWebhookDto } from '../webhooks.dto.js';
import { EVENT_KINDS, registerEventKind } from './event-kinds.js';
import { WebhookEventsService } from './webhook-events.service.js';

describe('WebhookEventsService', () => {
  const CORE = ['recording.transcribed', 'recording.failed', 'transcription.corrected'];
  const inserted: unknown[][] = [];
  const fannedOut: object[] = [];
  const announced: string[] = [];
  const tx = {
    prepared: async (_sql: string, row: unknown[]) => void inserted.push(row),
    afterCommit: (task: () => void) => task(),
  } as unknown as Tx;
  const signals = { announce: (accountId: string) => void announced.push(accountId) } as EventSignalsService;
  const deliveries = { fanOut: async (_tx: Tx, event: object) => void fannedOut.push(event) };
  const events = new WebhookEventsService(deliveries as DeliveriesService, signals, {} as DatabaseService, {} as Env);
  const errorsFor = (kind: string) =>
    validateSync(plainToInstance(CreateWebhookDto, { url: 'https://example.com/', events: [kind] }));

  it('knows the kinds of the core', () => {
    expect(EVENT_KINDS).toEqual(CORE);
  });

  it('refuses to publish and to subscribe to a kind that is not registered', async () => {
    await expect(events.publish(tx, { accountId: 'a', kind: 'keyword.matched', body: '{}' })).rejects.toThrow(
      'keyword.matched is not registered',
    );
    expect(errorsFor('keyword.matched')).toHaveLength(1);
    expect(inserted).toEqual([]);
  });

  it('keeps the kinds of the feed from webhooks', async () => {
    for (const kind of ['recording.accepted', 'recording.deleted']) {
      expect(errorsFor(kind)).toHaveLength(1);
      await expect(events.publish(tx, { accountId: 'a', kind, body: '{}' })).rejects.toThrow('is not registered');
      expect(() => registerEventKind(kind)).toThrow(`${kind} is a kind of the event feed`);
    }
    expect(fannedOut).toEqual([]);
    inserted.length = 0;
  });

  it('publishes a registered kind, and webhooks can subscribe to it', async () => {
    registerEventKind('keyword.matched');
    registerEventKind('keyword.matched');
    expect(EVENT_KINDS).toEqual([...CORE, 'keyword.matched']);
    expect(errorsFor('keyword.matched')).toEqual([]);
    await events.publish(tx, { accountId: 'a', kind: 'keyword.matched', body: '{"x":1}' });
    const event = expect.objectContaining({
      accountId: 'a',
      kind: 'keyword.matched',
      body: '{"x":1}',
      recordingId: null,
      run: null,
    });
    expect(inserted).toEqual([expect.arrayContaining(['a', 'keyword.matched', '{"x":1}'])]);
    expect(fannedOut).toEqual([event]);
    expect(announced).toEqual(['a']);
  });
});
