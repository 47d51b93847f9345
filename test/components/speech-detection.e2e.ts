import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { ChunkCutter } from '../../src/modules/transcriptions/audio/chunk-cutter.js';
import { decode } from '../../src/modules/transcriptions/audio/decoder.js';
import type { AudioChunk } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import { SILERO_FILE } from '../../src/modules/transcriptions/speech/silero-detector.js';
import { SpeechDetectionService } from '../../src/modules/transcriptions/speech/speech-detection.service.js';
import { readEnv } from '../../src/platform/config/env.js';
import { SPEECH } from '../../src/testing/speech.js';
import { MADE_SOUNDS, pcmOf, randomFrom } from '../support/audio/made-sounds.js';

const BYTES_PER_SECOND = 32_000;
const env = (variables = {}) =>
  readEnv({
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://localhost/none',
    REDIS_URL: 'redis://localhost',
    SECRET_KEY: 'x'.repeat(32),
    ...variables,
  });

interface Cut {
  chunks: AudioChunk[];
  speechSeconds: number;
}

async function cut(service: SpeechDetectionService, pcm: Buffer): Promise<Cut> {
  const cutter = new ChunkCutter(15, service.open());
  const chunks: AudioChunk[] = [];
  try {
    for await (const chunk of cutter.push(pcm)) chunks.push(chunk);
    for await (const chunk of cutter.end()) chunks.push(chunk);
    return { chunks, speechSeconds: cutter.speechSeconds };
  } finally {
    cutter.close();
  }
}

async function recording(name: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  const source = { file: path.join(SPEECH, name), format: 'wav', sampleRate: null, channels: null } as const;
  for await (const pcm of decode(source, { maxSeconds: 60, signal: new AbortController().signal })) parts.push(pcm);
  return Buffer.concat(parts);
}

/** White noise whose power is so many decibels below that of the recording. */
function inNoise(pcm: Buffer, decibel: number): Buffer {
  const samples = Float32Array.from({ length: pcm.length / 2 }, (_, i) => pcm.readInt16LE(i * 2) / 32_768);
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  const level = Math.sqrt((3 * power) / 10 ** (decibel / 10));
  const random = randomFrom(5);
  return pcmOf(samples.map((sample) => sample + level * random()));
}

describe('voice activity detection', () => {
  const service = new SpeechDetectionService(env());
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'speech-'));
  });
  afterAll(async () => {
    await service.onApplicationShutdown();
    await rm(folder, { recursive: true });
  });

  it('finds no speech in sounds without a voice', async () => {
    const sounds = Object.entries(MADE_SOUNDS);
    const found = await Promise.all(sounds.map(([, make]) => cut(service, pcmOf(make(6)))));
    const names = sounds.map(([name]) => name);
    expect(found.map(({ speechSeconds }, i) => [names[i], speechSeconds])).toEqual(names.map((name) => [name, 0]));
    expect(service.detector).toBe('silero');
  });

  it('finds speech in silence and in noise, and where it is', async () => {
    const pause = Buffer.alloc(4 * BYTES_PER_SECOND);
    const spoken = await recording('jfk.wav');
    const clean = await cut(service, Buffer.concat([pause, spoken, pause]));
    const noisy = await cut(service, inNoise(Buffer.concat([pause, spoken, pause]), 5));
    for (const { chunks, speechSeconds } of [clean, noisy]) {
      expect(speechSeconds).toBeGreaterThan(6);
      expect(speechSeconds).toBeLessThan(11);
      expect(chunks[0]!.start).toBeGreaterThan(3.5);
      expect(chunks[0]!.start).toBeLessThan(4.6);
      for (const { speech, pcm } of chunks) {
        expect(speech!.length).toBeGreaterThan(0);
        for (const { start, end } of speech!) {
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(pcm.length / BYTES_PER_SECOND);
        }
      }
    }
  });

  it('judges each recording on its own, also when many share the thread', async () => {
    const spoken = await recording('jfk.wav');
    const music = pcmOf(MADE_SOUNDS.music(5));
    const alone = await cut(service, spoken);
    const together = await Promise.all([spoken, music, spoken, music, spoken, music].map((pcm) => cut(service, pcm)));
    expect(together.map(({ speechSeconds }) => speechSeconds)).toEqual(
      [1, 0, 1, 0, 1, 0].map((times) => times * alone.speechSeconds),
    );
  });

  it('goes on with the level of the sound when the model is damaged, missing or switched off', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const damaged = path.join(folder, 'damaged.onnx');
    const bytes = await readFile(SILERO_FILE);
    bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1;
    await writeFile(damaged, bytes);
    const spoken = await recording('go-forward-ten-meters.wav');
    for (const [model, warnings] of [
      [damaged, 1],
      [path.join(folder, 'missing.onnx'), 1],
      [null, 0],
    ] as const) {
      warn.mockClear();
      const other = new SpeechDetectionService(env(model ? {} : { SPEECH_DETECTOR: 'energy' }), model ?? SILERO_FILE);
      const found = [await cut(other, spoken), await cut(other, spoken)];
      for (const { chunks, speechSeconds } of found) {
        expect(speechSeconds).toBeGreaterThan(1);
        expect(chunks[0]!.speech).toBeUndefined();
      }
      expect(other.detector).toBe('energy');
      expect(warn).toHaveBeenCalledTimes(warnings);
      await other.onApplicationShutdown();
    }
    warn.mockRestore();
  });

  // A thread that is ended within the library takes the whole process with it.
  it('can be closed while it works', async () => {
    const spoken = await recording('go-forward-ten-meters.wav');
    for (const ms of [0, 5, 20]) {
      const other = new SpeechDetectionService(env({}), SILERO_FILE);
      await cut(other, spoken);
      const cuts = Promise.allSettled(Array.from({ length: 6 }, () => cut(other, spoken)));
      await delay(ms);
      await other.onApplicationShutdown();
      await cuts;
    }
  });
});
