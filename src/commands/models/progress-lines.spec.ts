import { formatBytes, ProgressLines } from './progress-lines.js';

describe('ProgressLines', () => {
  let written: string[];
  let now: number;
  const linesTo = (isTTY: boolean) =>
    new ProgressLines('whisper-small', { isTTY, write: (text) => written.push(text) }, () => now);

  beforeEach(() => {
    written = [];
    now = 0;
  });

  it('writes a line for every tenth where it cannot write over one', () => {
    const lines = linesTo(false);
    for (let received = 0; received <= 1000; received++) {
      lines.update(received * 100_000, 100_000_000);
      now += 10;
    }
    expect(written).toHaveLength(11);
    expect(written[0]).toBe('  whisper-small   0 %   0 kB of 100 MB\n');
    expect(written[5]).toBe('  whisper-small  50 %   50.0 MB of 100 MB   10.0 MB/s   5 s left\n');
    expect(written[10]).toBe('  whisper-small 100 %   100 MB of 100 MB\n');
  });

  it('shows the rate of the last seconds, not of the whole', () => {
    const lines = linesTo(false);
    lines.update(0, 1e9);
    now = 60_000;
    lines.update(100e6, 1e9);
    now = 61_000;
    lines.update(200e6, 1e9);
    expect(written.at(-1)).toContain('100 MB/s   8 s left');
  });

  it('writes over its line on a terminal, a few times a second', () => {
    const lines = linesTo(true);
    for (let received = 0; received < 100; received++) {
      lines.update(received, 100);
      now += 10;
    }
    lines.update(100, 100);
    expect(written).toHaveLength(6);
    expect(written.every((text) => text.startsWith('\r\u001B[2K') && !text.includes('\n'))).toBe(true);
    lines.say('trying again');
    expect(written.slice(-2)).toEqual(['\r\u001B[2K', '  trying again\n']);
    lines.end();
    expect(written).toHaveLength(8);
  });

  it.each([
    [0, '0 kB'],
    [1, '1 kB'],
    [999_999, '1000 kB'],
    [12_345_678, '12.3 MB'],
    [375_485_327, '375 MB'],
    [1_036_613_791, '1.04 GB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});
