import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inMemory, silentWebm, webmWithoutAudio } from '../../../../test/support/audio/audio-bytes.js';
import { type AudioFacts, probeAudio } from './inspect-audio.js';
import { FileWindow } from './file-window.js';

const speech = (name: string): Buffer => readFileSync(path.join(__dirname, '../../../../test/fixtures/speech', name));
const probe = (bytes: Buffer): Promise<AudioFacts> => probeAudio(new FileWindow(inMemory(bytes), bytes.length), 'webm');

describe('probeAudio of WebM', () => {
  it('counts the packets of a live recording that is longer than the window', async () => {
    expect(await probe(silentWebm(7200))).toMatchObject({ durationSeconds: 7200, codec: 'opus' });
  });

  it('measures a truncated file by its content, not by its header', async () => {
    const bytes = speech('go-forward-ten-meters.webm');
    const { durationSeconds } = await probe(bytes.subarray(0, bytes.length / 2));
    expect(durationSeconds).toBeGreaterThan(0.5);
    expect(durationSeconds).toBeLessThan(2);
  });

  it('continues at the next cluster after damage', async () => {
    const bytes = silentWebm(120);
    bytes.fill(0, 3000, 3100);
    const { durationSeconds } = await probe(bytes);
    expect(durationSeconds).toBeGreaterThan(90);
    expect(durationSeconds).toBeLessThan(120);
  });

  it('gives no length to a file without audio', async () => {
    expect(await probe(webmWithoutAudio())).toMatchObject({ durationSeconds: 0, codec: null });
  });

  it('uses the times of the blocks when packets do not state their length', async () => {
    const bytes = silentWebm(3);
    bytes.write('A_SOME', bytes.indexOf('A_OPUS'));
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 3, codec: null });
  });

  it('measures from the first block, also when that is not at 0', async () => {
    const bytes = silentWebm(3, 5000);
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 3, codec: 'opus' });
    bytes.write('A_SOME', bytes.indexOf('A_OPUS'));
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 3, codec: null });
  });

  // 2^31 ms is also more than any file can be long; 1000 s is not.
  it.each(['000f4240', '7fffffff'])(
    'gives no more than the blocks can hold when a cluster begins at %s',
    async (ms) => {
      const bytes = silentWebm(3);
      bytes.write('A_SOME', bytes.indexOf('A_OPUS'));
      const later = Buffer.from(`1f43b67501ffffffffffffffe784${ms}a38681000080fb06`, 'hex');
      // 26 blocks of 1.024 s at most.
      expect(await probe(Buffer.concat([bytes, later]))).toMatchObject({ durationSeconds: 26.624 });
    },
  );
});
