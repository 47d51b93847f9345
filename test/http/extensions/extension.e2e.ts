import { Injectable, Module } from '@nestjs/common';
import request from 'supertest';
import { RecordingAccepted, RecordingTranscribed } from '../../../src/modules/recordings/recordings.events.js';
import { EventBus } from '../../../src/platform/database/event-bus.js';
import { timedEngine } from '../../support/service/test-engines.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { expectUploadState, uploadState } from '../../support/state/upload-state.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';

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
  let receiver: WebhookReceiver;
  let client: ApiClient;

  const engine = timedEngine({ msPerSecond: 0, concurrency: 1 });
  const service = useService(
    { METRICS_TOKEN: 'a token for metrics', TRANSCRIPTION_ENGINE: 'timed' },
    { extensions: [{ module: BrokenModule }, engine.extension] },
  );
  const { environment } = service;

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
    client = await service.account();
  });

  afterAll(async () => {
    await receiver.close();
  });

  it('costs neither the note nor its event, and is undone and counted', async () => {
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    const done = await client.finished(body.id);
    expect(done).toMatchObject({ status: 'transcribed', original_filename: body.original_filename });
    await receiver.waitFor(({ length }) => length === 1);

    const { text } = await request(service.url).get('/metrics').set('Authorization', 'Bearer a token for metrics');
    expect(text).toMatch(/^extension_listener_failures 2$/m);
  });

  it('refuses the change, and nothing is left of it, when it has asked for that', async () => {
    const unwanted = await service.account();
    UNWANTED.add(unwanted.accountId);
    const before = await uploadState(service, environment);
    const { body } = await unwanted.upload(silenceWav(0.1)).expect(500);
    expect(body.error).toMatchObject({ type: 'InternalError' });
    // What was stored before the change was refused is removed in the background.
    await expectUploadState(service, environment, before);
  });
});
