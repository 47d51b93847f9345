import { FallbackDetector } from './fallback-detector.js';
import { FRAME_BYTES, type SpeechDetector } from './speech-detector.js';

/** Answers all frames but the last five of each block, until it breaks. */
class FragileDetector implements SpeechDetector {
  readonly knowsVoices = true;
  broken = false;
  closed = false;

  detect(pcm: Buffer): Promise<boolean[]> {
    if (this.broken) return Promise.reject(new Error('broken'));
    return Promise.resolve(Array.from({ length: pcm.length / FRAME_BYTES - 5 }, () => true));
  }

  end(): Promise<boolean[]> {
    return this.detect(Buffer.alloc(10 * FRAME_BYTES));
  }

  close(): void {
    this.closed = true;
  }
}

const silence = (frames: number): Buffer => Buffer.alloc(frames * FRAME_BYTES);

describe('FallbackDetector', () => {
  it('passes on what the detector says', async () => {
    const detector = new FallbackDetector(new FragileDetector());
    expect([...(await detector.detect(silence(50))), ...(await detector.end())]).toEqual(Array(50).fill(true));
    expect(detector.knowsVoices).toBe(true);
  });

  it('goes on by the level when the detector breaks, and takes the frames that it owes for speech', async () => {
    const fragile = new FragileDetector();
    const detector = new FallbackDetector(fragile);
    await detector.detect(silence(50));
    fragile.broken = true;
    const rest = [...(await detector.detect(silence(100))), ...(await detector.end())];
    expect(rest).toEqual([...Array<boolean>(5).fill(true), ...Array<boolean>(100).fill(false)]);
    expect(detector.knowsVoices).toBe(false);
  });

  it('owes no frame at the end', async () => {
    const fragile = new FragileDetector();
    const detector = new FallbackDetector(fragile);
    await detector.detect(silence(50));
    fragile.broken = true;
    expect(await detector.end()).toHaveLength(5);
    detector.close();
    expect(fragile.closed).toBe(true);
  });
});
