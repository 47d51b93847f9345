import { ChunkCutter } from '../../src/modules/transcriptions/audio/chunk-cutter.js';
import type { SpeechSection } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import { SpeechDetectionService } from '../../src/modules/transcriptions/speech/speech-detection.service.js';
import { type TestService, useService } from '../../src/testing/test-service.js';
import { Env } from '../../src/platform/config/env.js';
import { speech } from '../../src/testing/speech.js';
import { wav } from '../support/audio/audio-bytes.js';
import { checkRows } from '../support/check-rows.js';
import { FakeOpenAiServer } from '../support/servers/fake-openai-server.js';
import { MADE_SOUNDS, pcmOf, randomFrom } from '../support/audio/made-sounds.js';

const METRICS_TOKEN = 'a-token-for-the-metrics';

async function metricsOf({ url }: TestService): Promise<string> {
  const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
  return await (await fetch(`${url}/metrics`, { headers })).text();
}

describe('a recording in which nobody speaks', () => {
  const service = useService({ METRICS_TOKEN });

  it('is transcribed with an empty text: ten seconds of music, hum, noise or silence', async () => {
    const client = await service.account();
    const sounds = ['music', 'hum of 50 Hz', 'white noise', 'noise like babble', 'silence'] as const;
    await checkRows(
      sounds.map((sound) => [sound] as const),
      async (sound) => {
        const { body } = await client.upload(wav({ data: pcmOf(MADE_SOUNDS[sound](10)) })).expect(201);
        const recording = await client.finished(body.id);
        expect(recording).toMatchObject({ status: 'transcribed', features: { speech_seconds: 0, no_speech: true } });
        const { body: transcription } = await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
        expect(transcription).toMatchObject({ text: '', confidence: 0, words: '[]' });
      },
    );
  });

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
    const metrics = await metricsOf(service);
    expect(metrics).toContain('speech_detector{detector="silero"} 1');
    expect(metrics).toContain('# TYPE invented_words_dropped_total counter');
  });
});

describe('text that an engine invents', () => {
  let engine: FakeOpenAiServer;

  beforeAll(async () => {
    engine = await FakeOpenAiServer.start();
  });
  afterAll(() => engine.stop());
  const service = useService(() => ({
    METRICS_TOKEN,
    OPENAI_BASE_URL: engine.baseUrl,
    TRANSCRIPTION_ENGINE: 'openai',
  }));

  /** Four words, 1.5 s of silence, and the same words again: one chunk with a pause in the middle. */
  async function spokenTwice(): Promise<{ pcm: Buffer; speech: readonly SpeechSection[] }> {
    const file = await speech('go-forward-ten-meters.wav');
    const spoken = file.subarray(file.indexOf('data') + 8 + 32_000 * 0.5, file.indexOf('data') + 8 + 32_000 * 2.2);
    const pcm = Buffer.concat([spoken, Buffer.alloc(32_000 * 1.5), spoken]);
    const detection = new SpeechDetectionService(service.app.get(Env));
    const cutter = new ChunkCutter(120, detection.open());
    const chunks = [];
    for await (const chunk of cutter.push(pcm)) chunks.push(chunk);
    for await (const chunk of cutter.end()) chunks.push(chunk);
    cutter.close();
    await detection.onApplicationShutdown();
    expect(chunks).toHaveLength(1);
    return { pcm, speech: chunks[0]!.speech! };
  }

  async function textOf(pcm: Buffer): Promise<Record<string, unknown>> {
    const client = await service.account();
    const { body } = await client.upload(wav({ data: pcm })).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    return (await client.get(`/v1/recordings/${body.id}/transcription`).expect(200)).body as Record<string, unknown>;
  }

  function answer(words: { word: string; start: number; end: number; probability: number }[], segment = {}) {
    const text = words.map(({ word }) => word).join('');
    const whole = { start: 0, end: 5, text, avg_logprob: -0.2, no_speech_prob: 0.01, ...segment, words };
    engine.next({ json: { language: 'english', text, segments: [whole] } });
  }

  it('is left out where nobody speaks, and nothing else is', async () => {
    const { pcm, speech: sections } = await spokenTwice();
    const gaps = sections.slice(1).map(({ start }, i) => ({ from: sections[i]!.end, to: start }));
    const { from, to } = gaps.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0]!;
    expect(to - from).toBeGreaterThan(1.2);
    const middle = (from + to) / 2;
    const first = sections[0]!.start;
    const last = sections.at(-1)!.start;
    answer([
      { word: ' Go', start: first, end: first + 0.2, probability: 0.1 },
      { word: ' forward.', start: first + 0.2, end: first + 0.5, probability: 0.9 },
      { word: ' Thank', start: middle - 0.05, end: middle, probability: 0.2 },
      { word: ' you.', start: middle, end: middle + 0.05, probability: 0.2 },
      { word: ' Please', start: middle, end: middle + 0.05, probability: 0.7 },
      { word: ' go', start: last, end: last + 0.2, probability: 0.2 },
    ]);
    const { text, words } = await textOf(pcm);
    expect(text).toBe('Go forward. Please go');
    expect((JSON.parse(words as string) as { word: string }[]).map(({ word }) => word)).toEqual([
      'Go',
      'forward.',
      'Please',
      'go',
    ]);
    expect(await metricsOf(service)).toContain('invented_words_dropped_total{engine="openai",reason="silence"} 2');
  });

  it('is left out when it is a loop, and what a person repeats stays', async () => {
    const { pcm } = await spokenTwice();
    const repeated = (seconds: number, times: number) =>
      Array.from({ length: times }, (_, i) => {
        const step = seconds / times;
        return { word: ' no', start: 0.3 + i * step, end: 0.3 + (i + 1) * step, probability: 0.9 };
      });
    answer(repeated(1.5, 8));
    expect((await textOf(pcm)).text).toBe('no no no no no no no no');
    answer(repeated(1.5, 40));
    expect((await textOf(Buffer.concat([pcm, Buffer.alloc(2)]))).text).toBe('no');
    expect(await metricsOf(service)).toContain('invented_words_dropped_total{engine="openai",reason="repetition"} 39');
  });
});
