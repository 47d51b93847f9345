import { useService } from '../../src/testing/test-service.js';
import { speech } from '../../src/testing/speech.js';
import { wav } from '../support/audio/audio-bytes.js';
import { MADE_SOUNDS, pcmOf, randomFrom } from '../support/audio/made-sounds.mjs';

const METRICS_TOKEN = 'a-token-for-the-metrics';

describe('a recording in which nobody speaks', () => {
  const service = useService({ METRICS_TOKEN });

  it.each(['music', 'hum of 50 Hz', 'white noise', 'noise like babble', 'silence'] as const)(
    'is transcribed with an empty text: ten seconds of %s',
    async (sound) => {
      const client = await service.account();
      const { body } = await client.upload(wav({ data: pcmOf(MADE_SOUNDS[sound](10)) })).expect(201);
      const recording = await client.finished(body.id);
      expect(recording).toMatchObject({ status: 'transcribed', features: { speech_seconds: 0, no_speech: true } });
      const { body: transcription } = await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
      expect(transcription).toMatchObject({ text: '', confidence: 0 });
    },
  );

  it('is told from one in which somebody speaks in noise', async () => {
    const client = await service.account();
    const file = Buffer.from(await speech('go-forward-ten-meters.wav'));
    const random = randomFrom(3);
    for (let at = file.indexOf('data') + 8; at + 1 < file.length; at += 2)
      file.writeInt16LE(Math.max(-32_768, Math.min(32_767, file.readInt16LE(at) + Math.round(250 * random()))), at);
    const { body } = await client.upload(file).expect(201);
    const recording = await client.finished(body.id);
    expect(recording).toMatchObject({ status: 'transcribed', features: { no_speech: false } });
    const { body: transcription } = await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
    expect(transcription.text).toMatch(/\b(forward|ten|meters)\b/);
  });

  it('says in the metrics which detector is in use', async () => {
    const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
    const metrics = await (await fetch(`${service.url}/metrics`, { headers })).text();
    expect(metrics).toContain('speech_detector{detector="silero"} 1');
    expect(metrics).toContain('# TYPE invented_words_dropped_total counter');
  });
});
