import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AccountEvent, type AudioSource, isApiError, type UploadProgress, VoiceNotes, wordsOf } from 'vnotes';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { sentenceEngine } from '../support/service/test-engines.js';

const NAME = 'go-forward-ten-meters.wav';
const PATH = join(SPEECH, NAME);

describe('the client library with the service', () => {
  const service = useService({ TRANSCRIPTION_ENGINE: 'sentence' }, { extensions: [sentenceEngine()] });

  async function newClient(): Promise<VoiceNotes> {
    const { credentials } = await service.account();
    return new VoiceNotes({ baseUrl: service.url, key: credentials.key, secret: credentials.secret });
  }

  it('uploads a file and waits for its words', async () => {
    const client = await newClient();
    const progress: UploadProgress[] = [];
    const recording = await client.recordings.uploadAndWait(PATH, {
      tags: { order: 'Ä-1' },
      vocabulary: ['meters'],
      languages: ['english'],
      onProgress: (step) => progress.push(step),
    });
    expect(recording).toMatchObject({ status: 'transcribed', original_filename: NAME, custom_tags: { order: 'Ä-1' } });
    expect(progress.at(0)).toEqual({ sent: 0, total: recording.file_size_bytes, attempt: 1 });
    expect(progress.at(-1)).toEqual({ sent: recording.file_size_bytes, total: recording.file_size_bytes, attempt: 1 });
    const transcription = await client.recordings.transcription(recording.id);
    expect(transcription.text).toContain('ten meters');
    expect(wordsOf(transcription).map(({ word }) => word)).toContain('meters');
    expect(await client.recordings.export(recording.id, 'srt')).toMatch(/^1\n00:00:/);
  });

  it('waits for many recordings with one stream, and for a deleted one not at all', async () => {
    const client = await newClient();
    const recordings = await Promise.all([1, 2, 3].map(() => client.recordings.upload(PATH)));
    const gone = await client.recordings.upload(PATH);
    const waits = recordings.map(({ id }) => client.recordings.wait(id));
    const forGone = client.recordings.wait(gone.id).catch((error: unknown) => error);
    await client.recordings.delete(gone.id);
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(Array(3).fill('transcribed'));
    expect(isApiError(await forGone, 'NotFoundError')).toBe(true);
  });

  it.each<[string, () => Promise<AudioSource>]>([
    ['a Blob', async () => new Blob([await readFile(PATH)])],
    ['bytes of a larger buffer', async () => Buffer.concat([Buffer.alloc(7), await readFile(PATH)]).subarray(7)],
    ['an ArrayBuffer', async () => new Uint8Array(await readFile(PATH)).buffer],
    ['a stream of Node', () => Promise.resolve(createReadStream(PATH))],
    ['a stream of the web', async () => new Blob([await readFile(PATH)]).stream()],
    ['a file: URL', () => Promise.resolve(pathToFileURL(PATH))],
  ])('sends each byte of %s', async (_name, open) => {
    const client = await newClient();
    const { id } = await client.recordings.upload(await open(), { filename: 'quote " and\nline.wav' });
    const audio = await client.recordings.audio(id);
    expect(Buffer.from(await audio.arrayBuffer()).equals(await readFile(PATH))).toBe(true);
  });

  it('streams events from now on, and ends without an error when it is told to', async () => {
    const client = await newClient();
    const stop = new AbortController();
    const events: AccountEvent[] = [];
    let isOpen = false;
    const reading = (async () => {
      const onState = (): void => void (isOpen = true);
      for await (const event of client.events.stream({ signal: stop.signal, onState })) events.push(event);
    })();
    await eventually(() => isOpen);
    const { id } = await client.recordings.upload(PATH);
    await client.recordings.delete(id);
    await eventually(() => events.at(-1)?.event === 'recording.deleted');
    stop.abort();
    await reading;
    expect(events[0]).toMatchObject({ event: 'recording.accepted', sequence: 1, body: { recording: { id } } });
  });

  it('says which refusal it is, with its details', async () => {
    const client = await newClient();
    const error: unknown = await client.recordings.upload(new Blob(['no audio'])).catch((caught: unknown) => caught);
    expect(isApiError(error, 'ValidationError') && error.details.errors).toEqual([
      { field: 'file', reason: expect.any(String) as string },
    ]);
    expect(isApiError(error, 'NotFoundError')).toBe(false);
    expect(isApiError(error) && error.requestId).toMatch(/^[\w-]+$/);
  });

  it('makes one recording of an upload whose answers are lost after it was stored', async () => {
    const { credentials } = await service.account();
    const pair = { key: credentials.key, secret: credentials.secret };
    let answersToLose = 2;
    const target = Number(new URL(service.url).port);
    const connections: Socket[] = [];
    const proxy = createServer((near) => {
      connections.push(near);
      const far = connect(target, '127.0.0.1');
      near.on('data', (bytes) => far.write(bytes)).on('error', () => {});
      near.on('close', () => far.destroy());
      far
        .on('error', () => {})
        .on('data', (bytes) => {
          // The answer comes when the recording is committed.
          if ((answersToLose -= 1) >= 0) near.destroy();
          else near.write(bytes);
        });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    try {
      for (const source of [PATH, createReadStream(PATH)]) {
        answersToLose = 2;
        const lossy = new VoiceNotes({ baseUrl: `http://127.0.0.1:${port}`, ...pair });
        const attempts = new Set<number>();
        const onProgress = ({ attempt }: UploadProgress) => void attempts.add(attempt);
        const { id } = await lossy.recordings.upload(source, { onProgress });
        expect([...attempts]).toEqual([1, 2, 3]);
        const stored = await new VoiceNotes({ baseUrl: service.url, ...pair }).recordings.list();
        expect(stored.recordings[0]?.id).toBe(id);
      }
      expect((await new VoiceNotes({ baseUrl: service.url, ...pair }).recordings.list()).total).toBe(2);
    } finally {
      proxy.close();
      for (const connection of connections) connection.destroy();
    }
  });

  it('walks through the pages of a list', async () => {
    const client = await newClient();
    for (let i = 0; i < 3; i += 1) await client.recordings.upload(PATH);
    const list = client.recordings.list({ limit: 2 });
    expect(await list).toMatchObject({ total: 3, page_size: 2 });
    expect(new Set((await list.all()).map(({ id }) => id)).size).toBe(3);
    const events = await client.events.list({ limit: 2 }).all();
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
  });
});
