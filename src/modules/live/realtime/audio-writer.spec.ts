import { setTimeout as delay } from 'node:timers/promises';
import { AudioWriter, MAX_HELD_BYTES, PART_BYTES } from './audio-writer.js';

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await delay(5);
};
const unavailable = (): Error => Object.assign(new Error('down'), { code: '57P03' });

describe('AudioWriter', () => {
  let stored: { offset: number; audio: Buffer }[];
  let positions: number[];
  let errors: unknown[];
  let failures: Error[];
  let hold: Promise<void> | null;
  let writer: AudioWriter;

  beforeEach(() => {
    [stored, positions, errors, failures, hold] = [[], [], [], [], null];
    writer = new AudioWriter(
      10,
      async (offset, audio) => {
        await hold;
        const failure = failures.shift();
        if (failure) throw failure;
        stored.push({ offset, audio });
        return offset + audio.length;
      },
      { onStored: (bytes) => positions.push(bytes), onError: (error) => errors.push(error) },
    );
  });
  afterEach(() => writer.stop());

  it('stores small parts together, in their order, from its position on', async () => {
    for (const text of ['a', 'bc', 'def']) writer.add(Buffer.from(text));
    expect(stored).toEqual([]);
    await until(() => stored.length > 0);
    expect(stored).toEqual([{ offset: 10, audio: Buffer.from('abcdef') }]);
    expect(positions).toEqual([16]);
  });

  it('stores a large part at once, and what comes meanwhile after it', async () => {
    let go: () => void = () => undefined;
    hold = new Promise((resolve) => (go = resolve));
    writer.add(Buffer.alloc(PART_BYTES, 1));
    writer.add(Buffer.alloc(5, 2));
    writer.add(Buffer.alloc(PART_BYTES, 3));
    go();
    await until(() => stored.length === 2);
    expect(stored.map(({ offset, audio }) => [offset, audio.length])).toEqual([
      [10, PART_BYTES],
      [10 + PART_BYTES, PART_BYTES + 5],
    ]);
    expect(positions).toEqual([10 + PART_BYTES, 15 + 2 * PART_BYTES]);
    expect(writer.held).toBe(0);
  });

  it('runs a task between the audio before it and the audio after it, again while Postgres is unavailable', async () => {
    const order: string[] = [];
    let isDown = true;
    writer.add(Buffer.from('ab'));
    writer.between(async (position) => {
      if (isDown) {
        isDown = false;
        throw unavailable();
      }
      order.push(`${position} behind ${stored.length} part`);
    });
    writer.between(async (position) => void order.push(`${position} again`));
    writer.add(Buffer.from('cd'));
    await writer.flush();
    expect(order).toEqual(['12 behind 1 part', '12 again']);
    expect(stored.map(({ offset, audio }) => [offset, audio.toString()])).toEqual([
      [10, 'ab'],
      [12, 'cd'],
    ]);
    expect(positions).toEqual([12, 14]);
    writer.between(async (position) => void order.push(`${position} without audio`));
    await writer.flush();
    expect(order.at(-1)).toBe('14 without audio');
    expect(writer.held).toBe(0);
  });

  it('flushes without waiting for more', async () => {
    writer.add(Buffer.from('ab'));
    await writer.flush();
    expect(positions).toEqual([12]);
    await writer.flush();
    expect(stored).toHaveLength(1);
  });

  it('tries again while Postgres is unavailable', async () => {
    failures = [unavailable(), unavailable()];
    writer.add(Buffer.from('ab'));
    await writer.flush();
    expect([stored.length, positions, errors]).toEqual([1, [12], []]);
  });

  it('tells any other error once, and stores nothing more', async () => {
    failures = [new Error('ended')];
    writer.add(Buffer.from('ab'));
    await writer.flush();
    writer.add(Buffer.from('cd'));
    await writer.flush();
    expect([stored, errors.length, writer.held]).toEqual([[], 1, 0]);
  });

  it('stops without an error', async () => {
    failures = [unavailable()];
    writer.add(Buffer.from('ab'));
    const flushed = writer.flush();
    await delay(1);
    writer.stop();
    await flushed;
    expect([stored, errors]).toEqual([[], []]);
  });

  it('counts an object for each part, so that parts of a byte are not held without end', () => {
    hold = new Promise(() => undefined);
    for (let i = 0; i < MAX_HELD_BYTES / 50; i++) writer.add(Buffer.alloc(1));
    expect(writer.held).toBeGreaterThan(MAX_HELD_BYTES);
  });
});
