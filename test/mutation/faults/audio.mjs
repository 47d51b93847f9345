const PROBES = 'src/modules/recordings/audio/probes';
const FORMATS = 'src/modules/recordings/audio/formats';

/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const audio = [
  {
    file: `${FORMATS}/webm-blocks.ts`,
    tests: `${PROBES}/webm.probe.spec.ts`,
    faults: [
      ['a webm that starts at five seconds is five seconds longer', ' - (this.firstTime ?? 0);', ';'],
      ['the times of blocks are believed', ', this.frames * MAX_FRAME_SECONDS)', ')'],
      ['the last block has no length', 'this.lastTime + this.lastDuration - ', 'this.lastTime - '],
    ],
  },
  {
    file: `${FORMATS}/ogg-stream.ts`,
    tests: `${PROBES}/ogg.probe.spec.ts`,
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
    ],
  },
  {
    file: `${FORMATS}/ogg-page.ts`,
    tests: `${PROBES}/ogg.probe.spec.ts`,
    faults: [
      ['a page without a position has one', 'granuleHigh >= 0x80000000 ? null', 'granuleHigh >= 0x100000000 ? null'],
    ],
  },
  {
    file: `${PROBES}/mp3.probe.ts`,
    tests: `${PROBES}/mp3.probe.spec.ts`,
    faults: [
      ['a truncated mp3 loses the padding that it does not have', '(this.frames >= frames ? padding : 0)', 'padding'],
      ['the encoder delay counts as audio', 'const dropped = delay + ', 'const dropped = '],
      ['half a frame at the end counts', 'if (frame && position + frame.length <= window.size && ', 'if (frame && '],
    ],
  },
];
