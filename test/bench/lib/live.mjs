import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { WebSocket } from 'ws';

import { WAV_HEADER_BYTES } from '../../../scripts/lib/wav.mjs';

export const BYTES_PER_SECOND = 32_000;
export const PART_SECONDS = 0.1;
/** Of a word in a partial text and in the final one. */
const SAME_PLACE_SECONDS = 0.3;
const CHANNEL = /^signal:\d+:live-words:(.+)$/;

/** Samples of a WAV of 16 kHz, mono. */
export const samplesOf = (file) => readFileSync(file).subarray(WAV_HEADER_BYTES);

export const pause = (seconds) => Buffer.alloc(Math.round(seconds * 16_000) * 2);

/** When each message about the words of a live recording left its transcriber: the messages of clients have no times of words. */
export class WordSignals {
  #redis;
  #deltas = new Map();

  static async open(stage) {
    const signals = new WordSignals();
    signals.#redis = new Redis(stage.env.REDIS_URL);
    signals.#redis.on('pmessage', (_, channel, message) => signals.#add(CHANNEL.exec(channel)?.[1], message));
    await signals.#redis.psubscribe('signal:*:live-words:*');
    return signals;
  }

  /** @returns {{ item: number, offset: number, words: { word: string, start: number, end: number }[] }[]} */
  deltas(recordingId) {
    return this.#deltas.get(recordingId) ?? [];
  }

  close() {
    this.#redis.disconnect();
  }

  #add(recordingId, message) {
    const signal = JSON.parse(message);
    if (signal.type === 'delta') this.#deltas.set(recordingId, [...this.deltas(recordingId), signal]);
  }
}

/** Somebody who speaks into a WebSocket in the plain form, and reads the words. */
export class Speaker {
  recordingId = '';
  #socket;
  #startedAt = 0;
  /** Arrivals of partial texts by item and offset, and of finals by item: seconds since the first audio. */
  #partials = new Map();
  #finals = new Map();
  #lengths = new Map();
  #ended = deferred();

  static async open(url, { headers }) {
    const speaker = new Speaker();
    const query = '?format=pcm16&sample_rate=16000&language=english';
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/realtime${query}`, { headers });
    speaker.#socket = socket;
    const started = deferred();
    socket.on('message', (data) => {
      const message = JSON.parse(String(Buffer.from(data)));
      if (message.type === 'started') started.resolve(message.recording_id);
      else speaker.#receive(message);
    });
    socket.on('close', (code) => speaker.#ended.reject(new Error(`the connection was closed with ${code}`)));
    speaker.#ended.promise.catch(() => undefined);
    await once(socket, 'open');
    speaker.recordingId = await started.promise;
    return speaker;
  }

  /** In real time, in parts of 0.1 s. */
  async speak(audio) {
    this.#startedAt = performance.now();
    for (let sent = 0; sent < audio.length;) {
      await sleep(PART_SECONDS * 1000);
      const due = Math.floor((this.#now() * BYTES_PER_SECOND) / 2) * 2;
      this.#socket.send(audio.subarray(sent, due));
      sent = Math.min(audio.length, due);
    }
  }

  /** Resolves when all words are there. */
  async finish() {
    this.#socket.send(JSON.stringify({ type: 'finish' }));
    await this.#ended.promise;
  }

  /**
   * The words of the final texts, with the seconds from their end to their first appearance: in a partial text, if that had
   * the same word, else in the final one.
   * @param {{ item: number, words: { word: string, end: number }[] }[]} finals as they are stored
   * @returns {{ word: string, end: number, delay: number, isPartial: boolean }[]}
   */
  delays(finals, deltas) {
    return finals.flatMap(({ item, words }) => {
      const shown = deltas
        .filter((delta) => delta.item === item && this.#partials.has(keyOf(delta)))
        .flatMap((delta) => delta.words.map((word) => ({ ...word, at: this.#partials.get(keyOf(delta)) })));
      return firstAppearances(words, shown, this.#finals.get(item) ?? Infinity);
    });
  }

  #receive(message) {
    const { type, item, text } = message;
    if (type === 'partial') {
      const offset = this.#lengths.get(item) ?? 0;
      this.#lengths.set(item, offset + text.length);
      this.#partials.set(keyOf({ item, offset }), this.#now());
    } else if (type === 'final') this.#finals.set(item, this.#now());
    else if (type === 'ended') this.#ended.resolve();
    else if (type === 'problem' || type === 'error') this.#ended.reject(new Error(JSON.stringify(message)));
  }

  #now() {
    return (performance.now() - this.#startedAt) / 1000;
  }
}

function deferred() {
  const settle = {};
  const promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }));
  return { promise, ...settle };
}

const keyOf = ({ item, offset }) => `${item}:${offset}`;

/** @param shown the words of partial texts, with their ends and the time at which they came. */
export function firstAppearances(words, shown, finalAt) {
  return words.map(({ word, end }) => {
    const partial = shown.find((other) => other.word === word && Math.abs(other.end - end) < SAME_PLACE_SECONDS);
    return { word, end, delay: (partial?.at ?? finalAt) - end, isPartial: partial !== undefined };
  });
}

/** The finals of a live recording as they are stored; they are gone when it has its file. */
export async function storedFinals(stage, recordingId) {
  const rows = await stage.sql('SELECT item, words FROM live_words WHERE recording_id = $1 ORDER BY item', [
    recordingId,
  ]);
  return rows.map(({ item, words }) => ({ item, words: JSON.parse(words) }));
}

export function distribution(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(2));
  return { words: sorted.length, median: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) };
}
