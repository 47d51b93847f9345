/**
 * Writes ONNX models in code: a few fields of Protocol Buffers are all that it takes.
 * https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
 */

export interface OnnxModel {
  inputs: readonly OnnxValue[];
  outputs: readonly OnnxValue[];
  nodes: readonly OnnxNode[];
  constants?: readonly OnnxConstant[];
  metadata?: Readonly<Record<string, string>>;
}

/** A name stands for a length that is known only when the model runs. */
export interface OnnxValue {
  name: string;
  type: 'float' | 'int64';
  shape: readonly (number | string)[];
}

export interface OnnxNode {
  operator: string;
  inputs: readonly string[];
  outputs: readonly string[];
  attributes?: Readonly<Record<string, number | readonly number[]>>;
}

export interface OnnxConstant {
  name: string;
  shape: readonly number[];
  /** Float32Array: float; BigInt64Array: int64. */
  data: Float32Array | BigInt64Array;
  /** The file beside the model that holds the data, in place of the model. */
  externalFile?: string;
}

const IR_VERSION = 8;
const OPERATOR_SET = 13;
const FLOAT = 1;
const INT64 = 7;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;
const EXTERNAL = 1;

export function onnxModel({ inputs, outputs, nodes, constants = [], metadata = {} }: OnnxModel): Buffer {
  const graph = Buffer.concat([
    ...nodes.map((node) => bytesField(1, nodeProto(node))),
    textField(2, 'graph'),
    ...constants.map((constant) => bytesField(5, tensorProto(constant))),
    ...inputs.map((value) => bytesField(11, valueProto(value))),
    ...outputs.map((value) => bytesField(12, valueProto(value))),
  ]);
  return Buffer.concat([
    numberField(1, IR_VERSION),
    textField(2, 'tests'),
    bytesField(7, graph),
    bytesField(8, numberField(2, OPERATOR_SET)),
    ...Object.entries(metadata).map(([key, value]) => bytesField(14, entryProto(key, value))),
  ]);
}

function nodeProto({ operator, inputs, outputs, attributes = {} }: OnnxNode): Buffer {
  return Buffer.concat([
    ...inputs.map((name) => textField(1, name)),
    ...outputs.map((name) => textField(2, name)),
    textField(4, operator),
    ...Object.entries(attributes).map(([name, value]) => bytesField(5, attributeProto(name, value))),
  ]);
}

function attributeProto(name: string, value: number | readonly number[]): Buffer {
  const content =
    typeof value === 'number'
      ? [numberField(3, value), numberField(20, ATTRIBUTE_INT)]
      : [...value.map((item) => numberField(8, item)), numberField(20, ATTRIBUTE_INTS)];
  return Buffer.concat([textField(1, name), ...content]);
}

function tensorProto({ name, shape, data, externalFile }: OnnxConstant): Buffer {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const content =
    externalFile === undefined
      ? [bytesField(9, bytes)]
      : [bytesField(13, entryProto('location', externalFile)), numberField(14, EXTERNAL)];
  return Buffer.concat([
    ...shape.map((length) => numberField(1, length)),
    numberField(2, data instanceof Float32Array ? FLOAT : INT64),
    textField(8, name),
    ...content,
  ]);
}

function valueProto({ name, type, shape }: OnnxValue): Buffer {
  const dimensions = shape.map((length) =>
    bytesField(1, typeof length === 'number' ? numberField(1, length) : textField(2, length)),
  );
  const tensor = Buffer.concat([
    numberField(1, type === 'float' ? FLOAT : INT64),
    bytesField(2, Buffer.concat(dimensions)),
  ]);
  return Buffer.concat([textField(1, name), bytesField(2, bytesField(1, tensor))]);
}

function entryProto(key: string, value: string): Buffer {
  return Buffer.concat([textField(1, key), textField(2, value)]);
}

function numberField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function textField(field: number, text: string): Buffer {
  return bytesField(field, Buffer.from(text));
}

function bytesField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

/** Negative numbers take ten bytes, as 64-bit ones. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? byte | 0x80 : byte);
  } while (rest > 0n);
  return Buffer.from(bytes);
}
