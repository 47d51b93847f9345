import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errorCode } from '../../platform/storage/file-system.js';

/** A folder holds no model that can be used. The message names the file and what is wrong with it, for an operator. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

/** What is read of an ONNX file without loading it: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3. */
export interface OnnxFile {
  bytes: number;
  /** Properties that the exporter added, such as `model_type`. */
  metadata: ReadonlyMap<string, string>;
  /** Files with the weights of a large model, relative to its folder. */
  externalFiles: readonly string[];
}

// Field numbers of ModelProto, GraphProto, TensorProto and StringStringEntryProto.
const MODEL_GRAPH = 7;
const MODEL_METADATA = 14;
const GRAPH_INITIALIZER = 5;
const TENSOR_EXTERNAL_DATA = 13;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;

// Wire types of Protocol Buffers.
const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

/** An unchanged encoder of 1.5 billion parameters has about 12,000. */
const MAX_FIELDS = 1_000_000;
/** The longest known: 8 kB, the mean values of features. */
const MAX_TEXT_BYTES = 64 * 1024;
const MAX_ENTRIES = 1_000;
const WINDOW_BYTES = 64 * 1024;
/** onnxruntime's own format (`.ort`), in which sherpa-onnx needs no properties: 4 bytes, then this identifier. */
const ORT_IDENTIFIER = 'ORTM';

/**
 * Reads a few kilobytes of the file, whatever its size.
 * @throws ModelError when it cannot be read, is cut short, or is something else
 */
export function readOnnxFile(file: string): OnnxFile {
  const bytes = new BufferedFile(file);
  try {
    if (bytes.size === 0) throw new ModelError(`${file} is empty`);
    const start = bytes.text(0, Math.min(bytes.size, 64), 'latin1');
    if (start.startsWith('version https://git-lfs')) {
      throw new ModelError(
        `${file} is a Git LFS pointer, not the model: run git lfs pull, or download the file itself`,
      );
    }
    if (start.slice(4, 8) === ORT_IDENTIFIER) return { bytes: bytes.size, metadata: new Map(), externalFiles: [] };
    return readModel(bytes, file);
  } finally {
    bytes.close();
  }
}

function readModel(bytes: BufferedFile, file: string): OnnxFile {
  const scan = new FieldScan(bytes);
  const metadata = new Map<string, string>();
  const externalFiles = new Set<string>();
  let hasGraph = false;
  try {
    for (const field of scan.fields({ start: 0, end: bytes.size })) {
      if (field.number === MODEL_METADATA) {
        const { key, value } = scan.entry(field);
        if (metadata.size < MAX_ENTRIES) metadata.set(key, value);
      }
      if (field.number !== MODEL_GRAPH) continue;
      hasGraph = true;
      for (const name of externalLocations(scan, field)) externalFiles.add(name);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ModelError(`${file} is damaged or cut short (${error.message}): download it again`);
  }
  if (!hasGraph) throw new ModelError(`${file} is no ONNX model`);
  return { bytes: bytes.size, metadata, externalFiles: [...externalFiles] };
}

function* externalLocations(scan: FieldScan, graph: Field): Generator<string> {
  for (const tensor of scan.fields(graph)) {
    if (tensor.number !== GRAPH_INITIALIZER) continue;
    for (const field of scan.fields(tensor)) {
      if (field.number !== TENSOR_EXTERNAL_DATA) continue;
      const { key, value } = scan.entry(field);
      if (key === 'location') yield value;
    }
  }
}

interface Section {
  start: number;
  end: number;
}

interface Field extends Section {
  number: number;
}

/** The fields of a message. Throws a RangeError when one does not end where it should. */
class FieldScan {
  private count = 0;

  constructor(private readonly bytes: BufferedFile) {}

  *fields({ start, end }: Section): Generator<Field> {
    for (let position = start; position < end;) {
      if (++this.count > MAX_FIELDS) throw new RangeError('too many fields');
      const tag = this.varint(position);
      const number = Math.floor(tag.value / 8);
      const content = this.content(tag.value % 8, tag.end);
      if (number === 0) throw new RangeError(`no field at byte ${position}`);
      if (content.end > end) throw new RangeError(`it ends within the field at byte ${position}`);
      yield { number, ...content };
      position = content.end;
    }
  }

  entry(section: Section): { key: string; value: string } {
    const entry = { key: '', value: '' };
    for (const { number, start, end } of this.fields(section)) {
      const text = this.bytes.text(start, Math.min(end - start, MAX_TEXT_BYTES));
      if (number === ENTRY_KEY) entry.key = text;
      if (number === ENTRY_VALUE) entry.value = text;
    }
    return entry;
  }

  private content(wireType: number, start: number): Section {
    if (wireType === VARINT) return { start, end: this.varint(start).end };
    if (wireType === FIXED_64) return { start, end: start + 8 };
    if (wireType === FIXED_32) return { start, end: start + 4 };
    if (wireType !== LENGTH_DELIMITED) throw new RangeError(`no field at byte ${start}`);
    const length = this.varint(start);
    return { start: length.end, end: length.end + length.value };
  }

  private varint(start: number): { value: number; end: number } {
    let value = 0;
    for (let index = 0; index < 10; index++) {
      const byte = this.bytes.at(start + index);
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return { value, end: start + index + 1 };
    }
    throw new RangeError(`no number at byte ${start}`);
  }
}

/** Random access to a file through one buffer. */
class BufferedFile {
  readonly size: number;
  private readonly descriptor: number;
  private readonly buffer = Buffer.alloc(WINDOW_BYTES);
  private start = 0;
  private length = 0;

  constructor(file: string) {
    try {
      this.descriptor = openSync(file, 'r');
    } catch (error) {
      throw new ModelError(`${file} cannot be read: ${errorCode(error) ?? String(error)}`);
    }
    const facts = fstatSync(this.descriptor);
    if (!facts.isFile()) throw new ModelError(`${file} is no file`);
    this.size = facts.size;
  }

  at(position: number): number {
    if (position < this.start || position >= this.start + this.length) this.move(position);
    return this.buffer[position - this.start] ?? 0;
  }

  text(start: number, length: number, encoding: 'utf8' | 'latin1' = 'utf8'): string {
    const bytes = Buffer.alloc(length);
    return bytes.toString(encoding, 0, readSync(this.descriptor, bytes, 0, length, start));
  }

  close(): void {
    closeSync(this.descriptor);
  }

  private move(position: number): void {
    this.start = position;
    this.length = position >= this.size ? 0 : readSync(this.descriptor, this.buffer, 0, WINDOW_BYTES, position);
    if (this.length === 0) throw new RangeError('it ends within a field');
  }
}
