import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { expectError } from '../../support/http/expect-errors.js';
import { transcribe } from '../../support/state/recording-states.js';

describe('shares of a recording (D96)', () => {
  const service = useService({ ROLES: 'api' });
  const audio = silenceWav(0.5);
  let client: ApiClient;
  let id: string;

  beforeEach(async () => {
    client = await service.account();
    id = (await client.upload(audio, { title: 'Call with Ada' }).expect(201)).body.id as string;
    await transcribe(service, id, { text: 'go forward ten meters', durationMs: 500 });
  });

  const share = async (fields: object = {}, recordingId = id) => {
    const { body } = await client.post(`/v1/recordings/${recordingId}/shares`, fields).expect(201);
    return { body, token: (body.url as string).slice('/shared#'.length) };
  };
  /** As somebody without an account. */
  const open = (token: string, password?: string) =>
    request(service.url).post('/v1/shares/open').send({ token, password });

  it('show the text to anybody who has the link, and count how often they are opened', async () => {
    const { body, token } = await share();
    expect(body).toMatchObject({ recording_id: id, audio: false, has_password: false, expires_at: null });
    expect(body).toMatchObject({ opened_count: 0, last_opened_at: null, code: 'SHARE_CREATED' });
    const opened = await open(token).expect(200);
    expect(opened.body).toMatchObject({
      title: 'Call with Ada',
      status: 'transcribed',
      duration_seconds: 0.5,
      text: 'go forward ten meters',
      speaker_names: {},
      audio_url: null,
    });
    expect(opened.headers['cache-control']).toBe('private, no-store');
    await open(token).expect(200);
    const { body: page } = await client.get(`/v1/recordings/${id}/shares`).expect(200);
    expect(page.shares).toMatchObject([{ id: body.id, opened_count: 2 }]);
    expect(JSON.stringify(page)).not.toContain(token);
    expect(JSON.stringify(await service.database.query('SELECT * FROM shares'))).not.toContain(token);
  });

  it('show the correction, and nothing of a text that is not there yet', async () => {
    await client.put(`/v1/recordings/${id}/transcription`, { text: 'Go back.' }).expect(200);
    expect((await open((await share()).token)).body.text).toBe('Go back.');
    const waiting = (await client.upload(audio).expect(201)).body.id as string;
    expect((await open((await share({}, waiting)).token)).body).toMatchObject({ status: 'processing', text: null });
  });

  it('let the audio be heard where they say so, whole and in ranges, until they end', async () => {
    const { body, token } = await share({ audio: true });
    const { audio_url: url } = (await open(token).expect(200)).body;
    const whole = await request(service.url).get(url).expect(200);
    expect(whole.body).toEqual(audio);
    await request(service.url).get(url).set('Range', 'bytes=0-9').expect(206);
    expect(whole.headers['content-disposition']).toMatch(/^inline/);
    await client.delete(`/v1/recordings/${id}/shares/${body.id}`).expect(204);
    expectError(await request(service.url).get(url), 'NotFoundError');
    expectError(await open(token), 'NotFoundError');
    expectError(await client.delete(`/v1/recordings/${id}/shares/${body.id}`), 'NotFoundError');
  });

  it('end at their time, with their recording and when the account is suspended', async () => {
    const [expired, deleted, suspended] = [await share(), await share({ audio: true }), await share({ audio: true })];
    const urlOf = async (token: string) => (await open(token).expect(200)).body.audio_url as string;
    const url = await urlOf(suspended.token);
    await service.database.query(`UPDATE shares SET expires_at = now() WHERE id = $1`, [expired.body.id]);
    expectError(await open(expired.token), 'NotFoundError');
    await service.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [client.accountId]);
    expectError(await open(suspended.token), 'NotFoundError');
    await request(service.url).get(url).expect(404);
    await service.database.query(`UPDATE accounts SET status = 'active' WHERE id = $1`, [client.accountId]);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    expectError(await open(deleted.token), 'NotFoundError');
    expect(await service.database.query('SELECT 1 FROM shares WHERE account_id = $1', [client.accountId])).toEqual([]);
  });

  it('ask for their password, and let nobody guess it', async () => {
    const { body, token } = await share({ password: 'correct horse' });
    expect(body.has_password).toBe(true);
    for (const tried of [undefined, 'wrong horse']) {
      const refused = await open(token, tried);
      expect(refused.body.error).toMatchObject({ type: 'AuthenticationError', code: 'PASSWORD_REQUIRED' });
    }
    await open(token, 'correct horse').expect(200);
    const tries = [];
    for (let n = 0; n < 5; n++) tries.push((await open(token, `guess ${n}`)).status);
    expect(tries.at(-1)).toBe(429);
    // Who asks without one guesses nothing.
    await open(token).expect(401);
    const stored = await service.database.query('SELECT password_hash FROM shares WHERE id = $1', [body.id]);
    expect(JSON.stringify(stored)).not.toContain('horse');
  });

  it.each([
    [{ password: 'short' }, 'password'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ audio: 'yes' }, 'audio'],
  ])('refuse %j, and name the field', async (fields, field) => {
    const refused = await client.post(`/v1/recordings/${id}/shares`, fields);
    expectError(refused, 'ValidationError', expect.objectContaining({ field }));
  });

  it('are nobody else’s', async () => {
    const stranger = await service.account();
    const { body, token } = await share();
    await stranger.get(`/v1/recordings/${id}/shares`).expect(404);
    await stranger.post(`/v1/recordings/${id}/shares`, {}).expect(404);
    await stranger.delete(`/v1/recordings/${id}/shares/${body.id}`).expect(404);
    const own = (await stranger.upload(audio).expect(201)).body.id as string;
    await stranger.delete(`/v1/recordings/${own}/shares/${body.id}`).expect(404);
    await open(token).expect(200);
    // Nothing but this recording: a token is no credential.
    await request(service.url).get('/v1/recordings').set('Authorization', `Bearer ${token}`).expect(401);
  });
});
