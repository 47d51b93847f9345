import type { ApiClient } from '../../../src/testing/api-client.js';
import { speech } from '../../../src/testing/speech.js';
import { useService } from '../../../src/testing/test-service.js';
import { timedEngine } from '../../support/service/test-engines.js';
import { silenceWav, twoChannels, wav } from '../../support/audio/audio-bytes.js';
import { expectError, expectHeaders } from '../../support/http/expect-errors.js';
import { WAVEFORM } from '../../support/http/response-shapes.js';
import { claimRecording, fail, transcribe, upload } from '../../support/state/recording-states.js';

interface WaveformBody {
  duration_seconds: number;
  peaks: number[];
}

const pathOf = (id: string): string => `/v1/recordings/${id}/waveform`;

describe('waveforms (D52)', () => {
  describe('of a worker', () => {
    let client: ApiClient;

    const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });
    const service = useService({ TRANSCRIPTION_ENGINE: 'timed' }, { extensions: [engine.extension] });

    beforeEach(async () => {
      client = await service.account();
    });

    async function waveformOf(audio: Buffer, fields = {}): Promise<WaveformBody> {
      const { body } = await client.upload(audio, fields).expect(201);
      await client.finished(body.id);
      return (await client.get(pathOf(body.id)).expect(200)).body as WaveformBody;
    }

    it('shows where somebody speaks: 100 points for each second of a short recording', async () => {
      const spoken = await speech('go-forward-ten-meters.wav');
      const silence = Buffer.alloc(32_000);
      const { peaks, duration_seconds: seconds } = await waveformOf(
        wav({ data: Buffer.concat([silence, spoken.subarray(spoken.indexOf('data') + 8)]) }),
      );
      expect(peaks).toHaveLength(Math.ceil(seconds * 100));
      expect(Math.max(...peaks.slice(0, 100))).toBe(0);
      expect(Math.max(...peaks)).toBe(255);
      const loud = peaks.filter((peak) => peak > 25).length / peaks.length;
      expect(loud).toBeGreaterThan(0.2);
      expect(loud).toBeLessThan(0.6);
    });

    it('has the peaks of both channels that are transcribed each on its own', async () => {
      const note = await speech('go-forward-ten-meters.wav');
      const { peaks } = await waveformOf(twoChannels(note, note, 4, 7), { channels: 'separate' });
      expect(peaks).toHaveLength(700);
      const [first, pause, second] = [peaks.slice(0, 300), peaks.slice(300, 400), peaks.slice(400)];
      expect(Math.max(...pause)).toBeLessThan(10);
      expect(Math.max(...first)).toBe(Math.max(...second));
    });

    it('is flat where nothing is heard, and has a thousand points at most', async () => {
      expect(await waveformOf(silenceWav(25))).toMatchObject({
        duration_seconds: 25,
        peaks: Array.from({ length: 1000 }, () => 0),
      });
    });
  });

  describe('of a recording', () => {
    let client: ApiClient;
    let id: string;

    const service = useService({ ROLES: 'api' });

    beforeEach(async () => {
      client = await service.account();
      id = await upload(client);
    });

    const rows = async (): Promise<number> =>
      (await service.database.query(`SELECT FROM waveforms WHERE recording_id = $1`, [id])).length;
    const again = () => client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    const codeOf = async (): Promise<unknown> => {
      const answer = await client.get(pathOf(id)).expect(404);
      expect(answer.body.error.type).toBe('NotFoundError');
      expectHeaders(answer);
      return answer.body.error.code;
    };

    it('is answered with exactly these keys, and with a tag that spares sending it again', async () => {
      await transcribe(service, id, { durationMs: 1234 });
      const answer = await client.get(pathOf(id)).expect(200);
      expect(answer.body).toStrictEqual({
        ...WAVEFORM,
        recording_id: id,
        duration_seconds: 1.234,
        peaks: [0, 128, 255],
      });
      const { etag } = answer.headers as { etag: string };
      expect(etag).toBe(`"${id}.waveform"`);
      for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const unchanged = await client.get(pathOf(id)).set('If-None-Match', tags).expect(304);
        expect([unchanged.text, unchanged.headers.etag]).toEqual(['', etag]);
        expectHeaders(unchanged);
      }
      await client.get(pathOf(id)).set('If-None-Match', '"other"').expect(200);
      await client.get(pathOf(id)).set('If-None-Match', 'no tag').expect(200);
    });

    it('says why there is none: not yet, or not without transcribing it again', async () => {
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await fail(service, id);
      expect(await codeOf()).toBe('WAVEFORM_NOT_AVAILABLE');
      await client.post(`/v1/recordings/${id}/retry`).expect(202);
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await transcribe(service, id);
      await client.get(pathOf(id)).expect(200);
    });

    it('is made by transcribing an old recording again', async () => {
      await transcribe(service, id);
      await service.database.query('DELETE FROM waveforms WHERE recording_id = $1', [id]);
      expect(await codeOf()).toBe('WAVEFORM_NOT_AVAILABLE');
      const { body } = await client.get(pathOf(id));
      expect(body.error.message).toContain('POST /v1/recordings/{recording_id}/transcribe');
      await again();
      expect(await codeOf()).toBe('WAVEFORM_NOT_READY');
      await transcribe(service, id);
      await client.get(pathOf(id)).expect(200);
    });

    it('stays as it is when the recording is transcribed again, and is served meanwhile', async () => {
      await transcribe(service, id, { durationMs: 1000 });
      const { body: before } = await client.get(pathOf(id)).expect(200);
      await again();
      await claimRecording(service, id);
      expect((await client.get(pathOf(id)).expect(200)).body).toEqual(before);
      await service.database.query('UPDATE recordings SET lease_until = now() WHERE id = $1', [id]);
      await transcribe(service, id, { durationMs: 2000 });
      expect((await client.get(pathOf(id)).expect(200)).body).toEqual(before);
      expect(await rows()).toBe(1);
    });

    it('goes with the recording, deleted or erased with its end user', async () => {
      await transcribe(service, id);
      expect(await rows()).toBe(1);
      await client.delete(`/v1/recordings/${id}`).expect(204);
      expect(await rows()).toBe(0);
      expectError(await client.get(pathOf(id)), 'NotFoundError');

      const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'user-42' }).expect(201);
      const { body } = await client.upload(silenceWav(0.1)).set('Authorization', `Bearer ${token.token}`).expect(201);
      id = body.id;
      await transcribe(service, id);
      expect(await rows()).toBe(1);
      await client.delete('/v1/users/user-42').expect(202);
      expect(await rows()).toBe(0);
    });
  });
});
