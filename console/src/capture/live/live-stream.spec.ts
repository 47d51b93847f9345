import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket as Client, type WebSocket as Connection, WebSocketServer } from 'ws';
import { eventually } from '../../../../src/testing/eventually.js';
import type { LiveMessage } from './live-messages';
import { LiveStream } from './live-stream';
import { LiveWords } from './live-words';

const ID = '01a203f8-0000-7000-8000-000000000000';

/** The service as far as a recorder sees it. It stores what comes unless told otherwise. */
class Service {
  readonly server = new WebSocketServer({ port: 0 });
  readonly connections: { socket: Connection; recording: string | null }[] = [];
  stored = Buffer.alloc(0);
  isFinished = false;
  isStoring = true;
  /** Closes each connection as soon as it is open. */
  refusal: number | null = null;

  constructor() {
    this.server.on('connection', (socket, { url = '' }) => this.serve(socket, new URL(url, 'ws://x')));
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  say(message: object): void {
    this.connections.at(-1)?.socket.send(JSON.stringify(message));
  }

  /** Without a goodbye, as when a network fails. */
  cut(): void {
    this.connections.at(-1)?.socket.terminate();
  }

  async close(): Promise<void> {
    for (const { socket } of this.connections) socket.terminate();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Connection, { searchParams }: URL): void {
    const recording = searchParams.get('recording');
    this.connections.push({ socket, recording });
    if (this.refusal !== null) return socket.close(this.refusal, 'The recording cannot begin.');
    if (recording === null) this.say({ type: 'started', recording_id: ID });
    else this.say({ type: 'resumed', recording_id: ID, stored_bytes: this.stored.length });
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.store(data);
      else if (JSON.parse(data.toString()).type === 'finish') this.finish(socket);
    });
  }

  private store(data: Buffer): void {
    if (!this.isStoring) return;
    this.stored = Buffer.concat([this.stored, data]);
    this.say({ type: 'stored', bytes: this.stored.length, seconds: null });
  }

  private finish(socket: Connection): void {
    this.isFinished = true;
    this.say({ type: 'ended', reason: 'finished', recording_id: ID });
    socket.close(1000);
  }
}

describe('a recording that the service gets while it is made', () => {
  let service: Service;
  let failed: string | null;
  let stream: LiveStream;
  const messages: LiveMessage[] = [];

  const part = (text: string) => new TextEncoder().encode(text).buffer;
  const connect = (recording: string | null) => {
    const client = new Client(service.url + (recording === null ? '' : `?recording=${recording}`));
    // A browser closes without it.
    client.on('error', () => undefined);
    return client as unknown as WebSocket;
  };
  const begin = () =>
    new LiveStream({
      connect,
      onMessage: (message) => messages.push(message),
      onFail: (reason) => (failed = reason),
    });
  const isStored = (text: string) => eventually(() => service.stored.toString() === text);

  beforeEach(async () => {
    messages.length = 0;
    failed = null;
    service = new Service();
    await once(service.server, 'listening');
    stream = begin();
  });

  afterEach(async () => {
    stream.abandon();
    await service.close();
  });

  it('has every byte of it in the end', async () => {
    stream.append(part('one '));
    await isStored('one ');
    expect(stream.recordingId).toBe(ID);
    stream.append(part('two '));
    stream.append(part('three'));
    expect(await stream.finish()).toBe(true);
    expect([service.stored.toString(), service.isFinished, service.connections.length]).toEqual([
      'one two three',
      true,
      1,
    ]);
  });

  it('goes on from the stored byte after the connection was cut, also in the middle of a part', async () => {
    stream.append(part('one '));
    await isStored('one ');
    service.isStoring = false;
    stream.append(part('two '));
    stream.append(part('three '));
    service.stored = Buffer.from('one tw');
    service.isStoring = true;
    service.cut();
    await isStored('one two three ');
    stream.append(part('four'));
    expect(await stream.finish()).toBe(true);
    expect(service.stored.toString()).toBe('one two three four');
    expect(service.connections.map(({ recording }) => recording)).toEqual([null, ID]);
  });

  it('is finished although the connection is cut meanwhile', async () => {
    stream.append(part('one '));
    await isStored('one ');
    service.isStoring = false;
    stream.append(part('two'));
    const finished = stream.finish();
    service.isStoring = true;
    service.isFinished = false;
    service.cut();
    expect(await finished).toBe(true);
    expect(service.stored.toString()).toBe('one two');
  });

  it('does not connect again during a pause, and does so for what is said after it', async () => {
    stream.append(part('one '));
    await eventually(() => messages.some(({ type }) => type === 'stored'));
    service.connections[0]?.socket.close(4008, 'No audio came in time.');
    await once(service.connections[0]?.socket as Connection, 'close');
    expect(service.connections).toHaveLength(1);
    stream.append(part('two'));
    expect(await stream.finish()).toBe(true);
    expect(service.connections).toHaveLength(2);
  });

  it('is whole when the service has ended it in a long pause, and not when something was said after it', async () => {
    stream.append(part('one '));
    await eventually(() => messages.some(({ type }) => type === 'stored'));
    service.refusal = 4004;
    service.cut();
    expect(await stream.finish()).toBe(true);

    service.refusal = null;
    service.stored = Buffer.alloc(0);
    stream = begin();
    stream.append(part('one '));
    await isStored('one ');
    service.refusal = 4004;
    service.cut();
    stream.append(part('two'));
    expect(await stream.finish()).toBe(false);
  });

  it.each([4003, 4029])('is given up when the service refuses it with %i, and says why', async (code) => {
    service.refusal = code;
    stream.abandon();
    stream = begin();
    stream.append(part('one'));
    await eventually(() => failed !== null);
    expect(failed).toBe('The recording cannot begin.');
    expect(await stream.finish()).toBe(false);
  });

  it('says the reason of an error before the connection is closed', async () => {
    await eventually(() => service.connections.length === 1);
    service.say({ type: 'error', error: { message: 'The quota of stored bytes is used up.' } });
    service.connections[0]?.socket.close(4003, 'A quota is used up.');
    await eventually(() => failed !== null);
    expect(failed).toBe('The quota of stored bytes is used up.');
  });

  it('is given up where there is no such service, after a few attempts', async () => {
    stream.abandon();
    service.refusal = 1011;
    stream = begin();
    await eventually(() => failed !== null);
    expect(service.connections.length).toBeLessThanOrEqual(4);
    stream.append(part('one'));
    expect(await stream.finish()).toBe(false);
  });
});

describe('the words of a recording while it is made', () => {
  let words: LiveWords;
  const finals = () => words.finals.value.map(({ text }) => text);

  beforeEach(() => {
    words = new LiveWords();
  });

  it('are added to what is being said, and stay once it is over', () => {
    words.heed({ type: 'partial', item: 0, text: 'go' });
    words.heed({ type: 'partial', item: 0, text: ' forward' });
    expect([finals(), words.partial.value]).toEqual([[], 'go forward']);
    words.heed({ type: 'partial', item: 1, text: 'ten' });
    words.heed({ type: 'final', item: 0, text: 'Go forward.' });
    expect([finals(), words.partial.value]).toEqual([['Go forward.'], 'ten']);
    words.heed({ type: 'final', item: 1, text: '' });
    expect([finals(), words.partial.value]).toEqual([['Go forward.'], '']);
  });

  it('are there once, and in order, when they come again after a lost connection', () => {
    words.heed({ type: 'final', item: 1, text: 'two' });
    words.heed({ type: 'partial', item: 2, text: 'thr' });
    words.heed({ type: 'resumed', recording_id: ID, stored_bytes: 1 });
    for (const [item, text] of [
      [0, 'one'],
      [1, 'two'],
    ] as const) {
      words.heed({ type: 'final', item, text });
    }
    words.heed({ type: 'partial', item: 1, text: 'two' });
    words.heed({ type: 'partial', item: 2, text: 'three' });
    expect([finals(), words.partial.value]).toEqual([['one', 'two'], 'three']);
  });

  it('are missing for a reason', () => {
    words.heed({ type: 'problem', message: 'No engine.' });
    expect(words.problem.value).toBe('No engine.');
  });
});
