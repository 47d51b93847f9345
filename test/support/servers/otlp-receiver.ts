import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

type Value = string | number | boolean | Value[];

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentId: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Milliseconds. */
  start: number;
  end: number;
  attributes: Record<string, Value>;
  links: { traceId: string; spanId: string }[];
  isFailed: boolean;
  statusMessage: string;
  events: number;
  /** Of the process that sent it. */
  resource: Record<string, Value>;
}

/** An OpenTelemetry collector that decodes what it is sent by OTLP over HTTP in Protobuf, and keeps the spans. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders; bytes: Buffer }[] = [];
  /** Never answers while it hangs. */
  isHanging = false;

  private constructor(private readonly server: ReturnType<typeof createServer>) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.receive(request, response).catch(() => response.destroy());
    });
  }

  static async listen(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver(createServer());
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** In the order of their beginnings. */
  ofTrace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId).toSorted((a, b) => a.start - b.start);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await buffer(request);
    if (this.isHanging) return;
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    this.requests.push({ path: request.url ?? '', headers: request.headers, bytes });
    const isTraces = request.method === 'POST' && request.headers['content-type'] === 'application/x-protobuf';
    if (isTraces) this.spans.push(...spansOf(bytes));
    response.writeHead(isTraces ? 200 : 415, { 'Content-Type': 'application/x-protobuf' }).end();
  }
}

/** The fields of a message, by number: bytes of strings and of nested messages, and the bits of numbers. */
type Message = Map<number, (Buffer | bigint)[]>;

/** https://protobuf.dev/programming-guides/encoding */
function messageOf(bytes: Buffer): Message {
  const fields: Message = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const fixed = (length: 4 | 8): bigint => {
    at += length;
    return length === 8 ? bytes.readBigUInt64LE(at - 8) : BigInt(bytes.readUInt32LE(at - 4));
  };
  const part = (): Buffer => {
    const length = Number(varint());
    if (at + length > bytes.length) throw new Error('a field is longer than its message');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const readers: Record<number, () => Buffer | bigint> = { 0: varint, 1: () => fixed(8), 2: part, 5: () => fixed(4) };
  while (at < bytes.length) {
    const tag = Number(varint());
    const read = readers[tag & 7];
    if (!read) throw new Error(`no wire type ${tag & 7}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), read()]);
  }
  return fields;
}

const messages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((bytes) => messageOf(bytes as Buffer));
const text = (message: Message, field: number): string => String(message.get(field)?.[0] ?? '');
const hex = (message: Message, field: number): string =>
  (message.get(field)?.[0] as Buffer | undefined)?.toString('hex') ?? '';
const integer = (message: Message, field: number): bigint => (message.get(field)?.[0] as bigint | undefined) ?? 0n;
const milliseconds = (message: Message, field: number): number => Number(integer(message, field) / 1000n) / 1000;

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const FAILED = 2n;

/** The numbers of opentelemetry/proto/trace/v1/trace.proto. */
function spansOf(bytes: Buffer): ReceivedSpan[] {
  return messages(messageOf(bytes), 1).flatMap((ofResource) => {
    const resource = messages(ofResource, 1).map((message) => attributesOf(message, 1))[0] ?? {};
    return messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2).map((span) => spanOf(span, resource)));
  });
}

function spanOf(span: Message, resource: Record<string, Value>): ReceivedSpan {
  const status = messages(span, 15)[0] ?? new Map();
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4),
    name: text(span, 5),
    kind: KINDS[Number(integer(span, 6))] ?? 'internal',
    start: milliseconds(span, 7),
    end: milliseconds(span, 8),
    attributes: attributesOf(span, 9),
    links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    isFailed: integer(status, 3) === FAILED,
    statusMessage: text(status, 2),
    events: messages(span, 11).length,
    resource,
  };
}

function attributesOf(message: Message, field: number): Record<string, Value> {
  return Object.fromEntries(
    messages(message, field).map((pair) => [text(pair, 1), valueOf(messages(pair, 2)[0] ?? new Map())]),
  );
}

function valueOf(value: Message): Value {
  const [field] = value.keys();
  switch (field) {
    case 1:
      return text(value, 1);
    case 2:
      return integer(value, 2) === 1n;
    case 3:
      return Number(BigInt.asIntN(64, integer(value, 3)));
    case 4:
      return doubleOf(integer(value, 4));
    case 5:
      return messages(messages(value, 5)[0] ?? new Map(), 1).map(valueOf);
    default:
      throw new Error(`no value of the kind ${field}`);
  }
}

function doubleOf(bits: bigint): number {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(bits);
  return bytes.readDoubleLE();
}
