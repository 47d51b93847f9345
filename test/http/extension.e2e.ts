import { Injectable, Module } from '@nestjs/common';
import request from 'supertest';
import { RecordingAccepted, RecordingTranscribed } from '../../src/modules/recordings/recordings.events.js';
import { EventBus } from '../../src/platform/events/event-bus.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { Caller } from '../support/http/api-client.js';
import { eventually } from '../support/service/eventually.js';
import { type Ground, prepareGround, type Service, startService } from '../support/service/service.js';
import { SERVICE_TIMEOUT } from '../support/service/timeouts.js';
import { traces } from '../support/state/upload-traces.js';
import { WebhookReceiver } from '../support/servers/webhook-receiver.js';

jest.setTimeout(SERVICE_TIMEOUT);

/** An account that the strict listener below does not want. */
const UNWANTED = new Set<string>();

/** Listeners as a team might get them wrong. */
@Injectable()
class BrokenListeners {
  constructor(bus: EventBus) {
    // A statement that fails leaves its transaction unusable, unless a savepoint stands before it.
    bus.on(RecordingAccepted, async (_, tx) => void (await tx.query('SELECT 1 FROM no_such_table')));
    bus.on(RecordingTranscribed, async ({ recording }, tx) => {
      await tx.query(`UPDATE recordings SET original_filename = 'spoilt' WHERE id = $1`, [recording.id]);
      throw new Error('after it has written');
    });
    bus.on(
      RecordingAccepted,
      async ({ recording }) => {
        if (UNWANTED.has(recording.accountId)) throw new Error('refused');
      },
      { mustSucceed: true },
    );
  }
}

@Module({ providers: [BrokenListeners] })
class BrokenModule {}

describe('an added module that fails', () => {
  let ground: Ground;
  let service: Service;
  let receiver: WebhookReceiver;
  let caller: Caller;

  beforeAll(async () => {
    ground = await prepareGround();
    service = await startService(ground, { METRICS_TOKEN: 'a token for metrics' }, [{ module: BrokenModule }]);
    receiver = await WebhookReceiver.listen();
    caller = await service.account();
  });

  afterAll(async () => {
    await service.close();
    await receiver.close();
    await ground.clear();
  });

  it('costs neither the note nor its event, and is undone and counted', async () => {
    await caller.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const { body } = await caller.upload(silenceWav(0.1)).expect(201);
    const done = await caller.finished(body.id);
    expect(done).toMatchObject({ status: 'transcribed', original_filename: body.original_filename });
    await receiver.waitFor(({ length }) => length === 1);

    const { text } = await request(service.url).get('/metrics').set('Authorization', 'Bearer a token for metrics');
    expect(text).toMatch(/^extension_listener_failures 2$/m);
  });

  it('refuses the change, and nothing is left of it, when it has asked for that', async () => {
    const unwanted = await service.account();
    UNWANTED.add(unwanted.accountId);
    const before = await traces(service, ground);
    const { body } = await unwanted.upload(silenceWav(0.1)).expect(500);
    expect(body.error).toMatchObject({ type: 'InternalError' });
    // What was stored before the change was refused is removed in the background.
    await eventually(async () => (await traces(service, ground)).removals.length === before.removals.length);
    expect(await traces(service, ground)).toEqual(before);
  });
});
