import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inMemory, mp3WithTag, silentMp3 } from '../../../../test/support/audio/audio-bytes.js';
import { type AudioFacts, probeAudio } from './inspect-audio.js';
import { FileWindow } from './file-window.js';

const speech = (name: string): Buffer => readFileSync(path.join(__dirname, '../../../../test/fixtures/speech', name));
const probe = (bytes: Buffer): Promise<AudioFacts> => probeAudio(new FileWindow(inMemory(bytes), bytes.length), 'mp3');
const times = (count: number, bytes: Buffer): Buffer => Buffer.alloc(bytes.length * count, bytes);

describe('probeAudio of MP3', () => {
  const note = speech('go-forward-ten-meters.mp3');

  it('counts frames when there is no Xing tag, encoder delay and padding included', async () => {
    const firstOfAudio = note.indexOf(Buffer.from([0xff, 0xfb]), note.indexOf('Info'));
    expect(await probe(note.subarray(firstOfAudio))).toMatchObject({ durationSeconds: 2.821 });
  });

  it('counts the whole frames of a truncated file, without the padding that stood at its end', async () => {
    // 53 frames of 1152 samples behind the Info tag, which says 108; 576 samples of encoder delay.
    const half = note.subarray(0, note.length / 2);
    expect(await probe(half)).toMatchObject({ durationSeconds: 1.371 });
    // All 108 frames: delay and 966 samples of padding are dropped. Without one byte of the last frame: 107 frames.
    expect(await probe(note)).toMatchObject({ durationSeconds: 2.786 });
    expect(await probe(note.subarray(0, -1))).toMatchObject({ durationSeconds: 2.782 });
  });

  it('reads a file that is longer than the window', async () => {
    expect(await probe(silentMp3(600))).toMatchObject({ durationSeconds: 600.007, bitRate: 128_000 });
  });

  it('skips tags and junk', async () => {
    const junk = Buffer.concat([Buffer.alloc(5000, 0xff), Buffer.from('TAG'), Buffer.alloc(125)]);
    const tagged = mp3WithTag(300_000, Buffer.concat([silentMp3(1), junk, mp3WithTag(5000, silentMp3(1)), junk]));
    expect(await probe(tagged)).toMatchObject({ durationSeconds: 2.038 });
  });

  it('counts what follows junk as long as it can be, once it gives up', async () => {
    const junk = (bytes: number): Buffer => Buffer.alloc(bytes, 0x20);
    const hidden = Buffer.concat([silentMp3(0.25), junk(64 * 1024 + 1), silentMp3(900)]);
    const estimate = await probe(hidden);
    expect(estimate.durationSeconds).toBeGreaterThan(900);
    expect(estimate.bitRate).toBeNull();
    const found = Buffer.concat([silentMp3(0.25), junk(60 * 1024), silentMp3(60)]);
    expect((await probe(found)).durationSeconds).toBeCloseTo(60.25, 0);
  });

  it('skips a large APE tag', async () => {
    const tag = Buffer.alloc(32 + 3_000_000, 0xfe);
    tag.write('APETAGEX', 'latin1');
    tag.writeUInt32LE(3_000_000, 12);
    expect((await probe(Buffer.concat([silentMp3(1), tag]))).durationSeconds).toBeCloseTo(1, 1);
  });

  it('gives the average of a variable bit rate', async () => {
    const slower = Buffer.alloc(208);
    slower.writeUInt32BE(0xfffb50c4);
    const frames = times(40, Buffer.concat([silentMp3(0.02), slower]));
    expect((await probe(frames)).bitRate).toBe(95_703);
  });
});
