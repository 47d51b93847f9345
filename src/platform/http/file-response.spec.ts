import { validateHeaderValue } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import type { Response } from 'express';
import fc from 'fast-check';
import type { ByteRange } from '../storage/file-system.js';
import { StorageUnavailableError } from '../storage/file-system.js';
import { contentDisposition, sendFile, sendHead, type SentFile } from './file-response.js';

const BYTES = Buffer.from('0123456789');

describe('the answer with a file', () => {
  let opened: { range: ByteRange; signal: AbortSignal; stream: Readable }[];
  let readBytes: number;
  /** What a read of the range gives. */
  let contentOf: (range: ByteRange) => Readable;
  let headers: Record<string, unknown>;
  let status: number;
  let response: Response;
  let sent: Buffer[];

  const file: SentFile = {
    size: BYTES.length,
    contentType: 'audio/wav',
    open: async (range, signal) => {
      const stream = contentOf(range);
      signal.addEventListener('abort', () => stream.destroy(new Error('aborted')));
      opened.push({ range, signal, stream });
      return stream;
    },
    onBytes: (count) => void (readBytes += count),
  };

  beforeEach(() => {
    [opened, readBytes, headers, status, sent] = [[], 0, {}, 0, []];
    contentOf = ({ start, end }) => Readable.from([BYTES.subarray(start, end), BYTES.subarray(end, end + 1)]);
    const stream = new PassThrough().on('data', (chunk: Buffer) => void sent.push(chunk));
    response = Object.assign(stream, {
      status: (code: number) => void (status = code),
      setHeader: (name: string, value: unknown) => void (headers[name] = value),
    }) as unknown as Response;
  });

  const body = async (): Promise<string> => {
    if (!response.writableFinished) await new Promise((resolve) => void response.once('finish', resolve));
    return Buffer.concat(sent).toString();
  };
  const ranges = () => opened.map(({ range: { start, end } }) => [start, end]);

  it('is the whole file, and 200, when no range is asked for', async () => {
    await sendFile(response, file, null);
    expect([await body(), status, readBytes]).toEqual(['0123456789', 200, 10]);
    expect(headers).toEqual({ 'Content-Type': 'audio/wav', 'Content-Length': 10 });
    expect(ranges()).toEqual([[0, 9]]);
  });

  it('is one range as itself, and 206', async () => {
    await sendFile(response, file, [{ start: 2, end: 4 }]);
    expect([await body(), status, readBytes]).toEqual(['234', 206, 3]);
    expect(headers).toEqual({ 'Content-Type': 'audio/wav', 'Content-Length': 3, 'Content-Range': 'bytes 2-4/10' });
  });

  it('is 206 also for a range that is the whole file', async () => {
    await sendFile(response, file, [{ start: 0, end: 9 }]);
    expect([await body(), status, headers['Content-Range']]).toEqual(['0123456789', 206, 'bytes 0-9/10']);
  });

  it('is several ranges as parts, with the length of all of it', async () => {
    await sendFile(response, file, [
      { start: 7, end: 8 },
      { start: 0, end: 0 },
    ]);
    const [, boundary] = /^multipart\/byteranges; boundary=([\da-f]{32})$/.exec(headers['Content-Type'] as string)!;
    const text = await body();
    expect(text).toBe(
      `--${boundary}\r\nContent-Type: audio/wav\r\nContent-Range: bytes 7-8/10\r\n\r\n78` +
        `\r\n--${boundary}\r\nContent-Type: audio/wav\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--${boundary}--\r\n`,
    );
    expect(headers).toEqual({ 'Content-Type': headers['Content-Type'], 'Content-Length': text.length });
    expect([status, readBytes, ranges()]).toEqual([
      206,
      3,
      [
        [7, 8],
        [0, 0],
      ],
    ]);
  });

  it('is not begun when the file cannot be read', async () => {
    contentOf = () => {
      throw new StorageUnavailableError('no answer');
    };
    await expect(sendFile(response, file, null)).rejects.toThrow('no answer');
    await expect(sendHead(response, file)).rejects.toThrow('no answer');
    expect([status, headers, sent, response.writableEnded]).toEqual([0, {}, [], false]);
  });

  it.each([
    ['fewer', ['012345678'], '012345678'],
    ['more', ['01234', '567890'], '01234'],
  ])('is broken off when an object has %s bytes than recorded', async (what, chunks, text) => {
    contentOf = () => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    await expect(sendFile(response, file, null)).rejects.toThrow(
      new StorageUnavailableError(`an object has ${what} bytes than recorded`),
    );
    expect([Buffer.concat(sent).toString(), readBytes]).toEqual([text, text.length]);
    expect(response.writableEnded).toBe(false);
  });

  it('ends without an error when the client leaves, and lets go of the file', async () => {
    contentOf = () => new PassThrough();
    const sending = sendFile(response, file, null);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(opened[0]?.signal.aborted).toBe(false);
    response.destroy();
    await sending;
    expect([opened[0]?.signal.aborted, opened[0]?.stream.destroyed]).toEqual([true, true]);
  });

  it.each([
    ['a file', sendFile],
    ['a head', sendHead],
  ])('stops to open %s when the client leaves', async (_, send) => {
    let signal: AbortSignal | undefined;
    const open = (_range: ByteRange, given: AbortSignal): Promise<Readable> =>
      new Promise((_resolve, reject) => {
        signal = given;
        given.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const sending = send(response, { ...file, open }, null);
    response.destroy();
    await sending;
    expect(signal?.aborted).toBe(true);
  });

  it('to HEAD has the headers of the whole file and no body, and lets go of the byte that was read', async () => {
    await sendHead(response, file);
    expect([await body(), status, readBytes]).toEqual(['', 200, 0]);
    expect(headers).toEqual({ 'Content-Type': 'audio/wav', 'Content-Length': 10 });
    expect([ranges(), opened[0]?.stream.destroyed]).toEqual([[[0, 0]], true]);
  });
});

/** The grammar of RFC 6266 as far as it is used here. */
const GRAMMAR =
  /^(attachment|inline); filename="([ !#$&'()+,\-.0-9=@A-Z[\]^_`a-z{}~]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/;

describe('Content-Disposition (RFC 6266, RFC 8187)', () => {
  it.each([
    ['note.wav', `attachment; filename="note.wav"; filename*=UTF-8''note.wav`],
    ['a b.wav', `attachment; filename="a b.wav"; filename*=UTF-8''a%20b.wav`],
    ['Grüße €.mp3', `attachment; filename="Gr__e _.mp3"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%E2%82%AC.mp3`],
    [
      '"; filename=evil.exe',
      `attachment; filename="__ filename=evil.exe"; filename*=UTF-8''%22%3B%20filename%3Devil.exe`,
    ],
    ['..\\..\\%2e%2e/x', `attachment; filename=".._..__2e_2e_x"; filename*=UTF-8''..%5C..%5C%252e%252e%2Fx`],
    ["o'clock*.ogg", `attachment; filename="o'clock_.ogg"; filename*=UTF-8''o%27clock%2A.ogg`],
    ['👋.webm', `attachment; filename="_.webm"; filename*=UTF-8''%F0%9F%91%8B.webm`],
  ])('of %s', (name, expected) => {
    expect(contentDisposition('attachment', name)).toBe(expected);
  });

  it('of any name is a valid header, keeps to the grammar and gives the name back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (name) => {
        const header = contentDisposition('inline', name);
        expect(() => validateHeaderValue('Content-Disposition', header)).not.toThrow();
        const [, , , encoded = ''] = GRAMMAR.exec(header) ?? ['', '', '', header];
        expect(decodeURIComponent(encoded)).toBe(name.toWellFormed());
      }),
    );
  });
});
