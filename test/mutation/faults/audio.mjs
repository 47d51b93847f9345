const AUDIO = 'src/modules/recordings/audio';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const audio = [
  {
    file: `${AUDIO}/webm.probe.ts`,
    tests: `${AUDIO}/webm.probe.spec.ts`,
    faults: [
      ['a webm that starts at five seconds is five seconds longer', ' - (this.firstTime ?? 0);', ';'],
      ['the times of blocks are believed', ', this.frames * MAX_FRAME_SECONDS)', ')'],
      ['the last block has no length', 'this.lastTime + this.lastDuration - ', 'this.lastTime - '],
    ],
  },
  {
    file: `${AUDIO}/ogg.probe.ts`,
    tests: `${AUDIO}/ogg.probe.spec.ts`,
    faults: [
      [
        'a huge granule position is believed',
        'Math.min(this.lastGranule - (this.firstSample ?? 0), this.capacity)',
        '(this.lastGranule - (this.firstSample ?? 0))',
      ],
      [
        'a stream begins at 0',
        'this.firstSample ??= Math.max(0, page.granule - this.capacity);',
        'this.firstSample ??= 0;',
      ],
      ['a page without a position has one', 'granuleHigh >= 0x80000000 ? null', 'granuleHigh >= 0x100000000 ? null'],
    ],
  },
  {
    file: `${AUDIO}/mp3.probe.ts`,
    tests: `${AUDIO}/mp3.probe.spec.ts`,
    faults: [
      ['a truncated mp3 loses the padding that it does not have', '(this.frames >= frames ? padding : 0)', 'padding'],
      ['the encoder delay counts as audio', 'const dropped = delay + ', 'const dropped = '],
    ],
  },
  {
    file: `${AUDIO}/frame-scan.ts`,
    tests: `${AUDIO}/mp3.probe.spec.ts`,
    faults: [
      ['half a frame at the end counts', 'if (frame && position + frame.length <= window.size && ', 'if (frame && '],
    ],
  },
];
