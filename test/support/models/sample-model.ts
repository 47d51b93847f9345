import { randomBytes } from 'node:crypto';
import { onnxModel } from './onnx-writer.js';

/** Files of a model that is complete for code that only reads what it is, with weights of so many bytes. */
export function sampleModel(bytes = 400_000): Record<string, Buffer> {
  const weights = new Float32Array(new Uint8Array(randomBytes(bytes - (bytes % 4))).buffer);
  const value = { name: 'x', type: 'float', shape: ['N'] } as const;
  const model = onnxModel({
    inputs: [value],
    outputs: [value],
    nodes: [],
    constants: [{ name: 'w', shape: [weights.length], data: weights }],
    metadata: { model_type: 'EncDecCTCModel' },
  });
  return { 'model.int8.onnx': model, 'tokens.txt': Buffer.from('a 0\nb 1\n<blk> 2\n') };
}
