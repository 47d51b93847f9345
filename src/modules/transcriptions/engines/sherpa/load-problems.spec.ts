import { describeLoss } from './load-problems.js';
import { memoryNeeds } from './memory-needs.js';
import { speechBounds } from './results/speech-bounds.js';

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
  it('follows from the size of the model', () => {
    expect(memoryNeeds(GB, null, 64 * GB).bytes).toBeGreaterThan(3 * GB);
    expect(memoryNeeds(GB, 100, 64 * GB).bytes).toBe(100 * 2 ** 20);
  });

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

  it('takes silence as a whole', () => {
    expect(speechBounds(new Float32Array(16_000))).toEqual({ start: 0, end: 1 });
  });
});
