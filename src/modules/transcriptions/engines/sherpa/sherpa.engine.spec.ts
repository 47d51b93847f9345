import os from 'node:os';
import { describeLoss, memoryNeeds } from './sherpa.engine.js';
import { speechBounds } from './sherpa-words.js';

const GB = 2 ** 30;

describe('describeLoss', () => {
  it.each([
    ['ended by SIGABRT', "terminate called after throwing an instance of 'std::bad_alloc'\n"],
    ['ended by itself', 'Load model from /m/model.onnx failed:std::bad_alloc'],
    ['ended by SIGKILL', ''],
    ['ended by SIGTRAP', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
  ])('names the memory: %s', (end, said) => {
    expect(describeLoss('/m', 512 << 20, end, said)).toMatch(
      /\/m needs more memory than the 512 MB .* SHERPA_MEMORY_MB/,
    );
  });

  it.each(['Failed to Allocate memory', 'OOM', 'killed: oom', 'Out of memory'])('names the memory after %j', (said) => {
    expect(describeLoss('/m', 1.6 * 2 ** 20, 'ended by exit code 1', said)).toContain('than the 2 MB allowed');
  });

  it.each([
    ['', 'ended by SIGABRT'],
    ['\n  \nAborted\n', 'ended by SIGABRT'],
    ['first\nsecond\n', 'ended by SIGABRT: second'],
    ['why \n    at file:1\n  at next\n\nNode.js v20.0.0\n', 'ended by SIGABRT: why'],
    ['why\nterminate called after\nError in cpuinfo: no', 'ended by SIGABRT: why'],
    ['what():   why', 'ended by SIGABRT: why'],
    ['so: what(): why', 'ended by SIGABRT: so: what(): why'],
    ['x'.repeat(300), `ended by SIGABRT: ${'x'.repeat(300)}`],
    [`ab${'x'.repeat(299)}`, `ended by SIGABRT: …b${'x'.repeat(299)}`],
  ])('of the output %j says %j', (said, text) => {
    expect(describeLoss('/m', GB, 'ended by SIGABRT', said)).toBe(
      `The model in /m cannot be loaded (${text}). Download it again.`,
    );
  });

  it('quotes what the library said last', () => {
    const said =
      'Error in cpuinfo: x\n  what():  Load model from /m/model.onnx failed:Protobuf parsing failed.\n\nAborted\n';
    expect(describeLoss('/m', GB, 'ended by SIGABRT', said)).toBe(
      'The model in /m cannot be loaded (ended by SIGABRT: Load model from /m/model.onnx failed:Protobuf parsing failed.). ' +
        'Download it again.',
    );
  });
});

describe('memoryNeeds', () => {
  afterEach(() => jest.restoreAllMocks());

  it('follows from the size of the model', () => {
    expect(memoryNeeds(GB, null, 64 * GB).bytes).toBeGreaterThan(3 * GB);
    expect(memoryNeeds(GB, 100, 64 * GB).bytes).toBe(100 * 2 ** 20);
  });

  it.each([
    [0, 512],
    [100, 812],
  ])('lets a process of a model of %s MB take %s MB: three times the files and half a gigabyte', (files, megabytes) => {
    expect(memoryNeeds(files * 2 ** 20, null, 64 * GB).bytes).toBe(megabytes * 2 ** 20);
  });

  it.each([
    [0, 499, 1],
    [0, 500, 2],
    [0, 749, 2],
    [0, 750, 3],
    [100, 1312, 2],
    [100, 1313, 3],
  ])('fits processes with a model of %s MB into four fifths of %s MB: %s', (files, machine, processes) => {
    expect(memoryNeeds(files * 2 ** 20, null, machine * 2 ** 20).processes).toBe(processes);
  });

  it.each([
    [0, 3],
    [500, 2],
    [4000, 3],
  ])(
    'takes the limit of the container for the memory, if it is lower than that of the machine: %s MB',
    (limit, count) => {
      jest.spyOn(process, 'constrainedMemory').mockReturnValue(limit * 2 ** 20);
      jest.spyOn(os, 'totalmem').mockReturnValue(750 * 2 ** 20);
      expect(memoryNeeds(0, null).processes).toBe(count);
    },
  );

  it('bounds the processes by the memory of the machine', () => {
    expect(memoryNeeds(GB, null, 16 * GB).processes).toBe(7);
    expect(memoryNeeds(GB, null, GB).processes).toBe(1);
  });
});

describe('speechBounds', () => {
  it('finds the first and the last sound', () => {
    const samples = new Float32Array(16_000);
    samples.fill(0.5, 4000, 8000);
    const { start, end } = speechBounds(samples);
    expect(start).toBeCloseTo(0.25, 1);
    expect(end).toBeCloseTo(0.5, 1);
  });

  const sound = (length: number, ...parts: [level: number, from: number, to: number][]): Float32Array => {
    const samples = new Float32Array(length);
    for (const [level, from, to] of parts) samples.fill(level, from, to);
    return samples;
  };

  it.each([
    ['frames of 20 ms', [0.5, 3200, 6400], { start: 0.2, end: 0.4 }],
    ['parts of frames', [0.5, 3300, 6410], { start: 0.2, end: 0.42 }],
    ['the first frame', [0.5, 0, 320], { start: 0, end: 0.02 }],
    ['the last frame', [-0.5, 15_680, 16_000], { start: 0.98, end: 1 }],
    ['a sound of -59 dB', [0.0011, 3200, 6400], { start: 0.2, end: 0.4 }],
    ['no sound of -61 dB', [0.0009, 3200, 6400], { start: 0, end: 1 }],
  ] as const)('finds %s', (_, part, bounds) => {
    expect(speechBounds(sound(16_000, [...part]))).toEqual(bounds);
  });

  it.each([
    [0.026, { start: 0.1, end: 0.5 }],
    [0.024, { start: 0.2, end: 0.4 }],
  ])('takes in sounds down to a twentieth of the loudest, 0.5: %s', (level, bounds) => {
    expect(speechBounds(sound(16_000, [0.5, 3200, 6400], [level, 1600, 3200], [level, 6400, 8000]))).toEqual(bounds);
  });

  it('ends with the audio, and takes an incomplete frame at its own level', () => {
    expect(speechBounds(sound(16_100, [0.5, 3200, 16_100]))).toEqual({ start: 0.2, end: 16_100 / 16_000 });
    expect(speechBounds(sound(16_010, [0.5, 3200, 6400], [0.026, 16_000, 16_010]))).toMatchObject({
      end: 16_010 / 16_000,
    });
    expect(speechBounds(new Float32Array(0))).toEqual({ start: 0, end: 0 });
  });

  it('takes silence as a whole', () => {
    expect(speechBounds(new Float32Array(16_000))).toEqual({ start: 0, end: 1 });
  });
});
