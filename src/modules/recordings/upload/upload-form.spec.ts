import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { BOUNDARY, filePart, form, FORM_TYPE, part, textPart } from '../../../../test/support/http/multipart.js';
import { InvalidRequestError, MalformedRequestError, PayloadTooLargeError } from '../../../platform/errors/errors.js';
import type { FormField, FormFields } from '../../../platform/http/input/form-fields.js';
import type { Spool } from '../../../platform/storage/spool.js';
import { cleanFilename, readUploadForm } from './upload-form.js';

const MAX_FILE = 26_214_400;
const MAX_FORM = MAX_FILE + 65_536;
const MAX_FIELD = 16_384;
const FILE = filePart('sound');
const later = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const typeOf = (length: number): string => `${FORM_TYPE}; x=`.padEnd(length, 'x');

describe('readUploadForm', () => {
  /** What was done with files of the spool, in order. */
  let steps: string[];
  let written: Buffer[];
  let received: FormField[];
  let refusal: InvalidRequestError | null;
  let fails: Error | null;

  beforeEach(() => {
    [steps, written, received, refusal, fails] = [[], [], [], null, null];
  });

  const fields: FormFields = {
    maxFields: 3,
    names: ['language', 'channels'],
    add: (field) => {
      received.push(field);
      return refusal;
    },
  };
  const file = {
    sizeBytes: 0,
    write: async (chunk: Buffer) => {
      await later();
      if (fails) throw fails;
      written.push(chunk);
      file.sizeBytes += chunk.length;
    },
    discard: async () => {
      await later();
      steps.push('discarded');
    },
  };
  const spool = {
    create: async () => {
      steps.push('created');
      file.sizeBytes = 0;
      return file;
    },
  } as unknown as Spool;

  const requestOf = (headers: Record<string, string> = {}) =>
    Object.assign(new PassThrough({ highWaterMark: 1024 }), {
      headers: { 'content-type': FORM_TYPE, ...headers },
      complete: true,
    });
  const read = (request: PassThrough, hashes = false) =>
    readUploadForm(request as unknown as IncomingMessage, spool, fields, hashes);
  const send = (body: Buffer | Buffer[], headers: Record<string, string> = {}, hashes = false) => {
    const request = requestOf(headers);
    for (const piece of [body].flat()) request.write(piece);
    request.end();
    return read(request, hashes);
  };
  const refusalOf = (body: Buffer | Buffer[], headers: Record<string, string> = {}) =>
    send(body, headers).then(
      () => null,
      (error: unknown) => error,
    );

  it('writes the file into the spool, and gives its name, and its hash only when that is wanted', async () => {
    const body = form(FILE, textPart('language', 'english'));
    expect(await send(body)).toEqual({ file, originalFilename: 'note.wav', sha256: null });
    expect(Buffer.concat(written).toString()).toBe('sound');
    const sha256 = hash('sha256', 'sound', 'hex');
    expect(await send(body, {}, true)).toMatchObject({ sha256 });
    expect(steps).toEqual(['created', 'created']);
    expect(received[0]).toEqual({ name: 'language', value: 'english', isTruncated: false });
  });

  it('reads the name of the file as UTF-8, and keeps nothing of its path', async () => {
    expect(await send(form(filePart('x', 'a/b/Grüße.wav')))).toMatchObject({ originalFilename: 'Grüße.wav' });
  });

  it.each<[Record<string, string>]>([
    [{ 'content-type': `Multipart/Form-Data; boundary=${BOUNDARY}` }],
    [{ 'content-encoding': 'identity' }],
    [{ 'content-type': typeOf(256) }],
    [{ 'content-length': `${MAX_FORM}` }],
  ])('takes a form with %j', async (headers) => {
    expect(await refusalOf(form(FILE), headers)).toBeNull();
  });

  const BOUNDARY_REFUSAL = new MalformedRequestError('The multipart boundary in Content-Type is missing or too long.');
  const NO_FORM = new MalformedRequestError(
    'An upload must be multipart/form-data with a part named "file". With curl: -F file=@note.ogg',
  );
  const TOO_LARGE = new PayloadTooLargeError('The file', MAX_FILE);

  it.each<[Record<string, string>, Error]>([
    [{ 'content-type': 'multipart/form-database; boundary=b' }, NO_FORM],
    [{ 'content-type': `x-${FORM_TYPE}` }, NO_FORM],
    [{ 'content-encoding': 'gzip' }, NO_FORM],
    [{ 'content-type': 'multipart/form-data' }, BOUNDARY_REFUSAL],
    [{ 'content-type': typeOf(257) }, BOUNDARY_REFUSAL],
    [{ 'content-length': `${MAX_FORM + 1}` }, TOO_LARGE],
  ])('refuses a form with %j before a file is created', async (headers, error) => {
    expect(await refusalOf(form(FILE), headers)).toEqual(error);
    expect(steps).toEqual([]);
  });

  it('takes a file of exactly the maximum, and refuses one byte more', async () => {
    const most = Buffer.alloc(MAX_FILE);
    expect(await refusalOf(form(filePart(most)))).toBeNull();
    expect(file.sizeBytes).toBe(MAX_FILE);
    expect(await refusalOf(form(filePart(Buffer.concat([most, Buffer.from('x')]))))).toEqual(TOO_LARGE);
  });

  it('counts what the parser ignores: a form ends at the maximum of a file and 64 KB', async () => {
    const body = form(FILE);
    const behind = Buffer.alloc(MAX_FORM - body.length);
    expect(await refusalOf([body, behind])).toBeNull();
    expect(await refusalOf([body, behind, Buffer.from('x')])).toEqual(TOO_LARGE);
    const before = Buffer.alloc(MAX_FORM + 1, 'x');
    expect(await refusalOf([before, body])).toEqual(TOO_LARGE);
  });

  it('gives a text of 16 KB whole, and says of a longer one that it was cut off', async () => {
    await send(form(textPart('a', 'x'.repeat(MAX_FIELD)), textPart('b', 'x'.repeat(MAX_FIELD + 1)), FILE));
    expect(received.map(({ isTruncated }) => isTruncated)).toEqual([false, true]);
    expect(received[0]?.value).toHaveLength(MAX_FIELD);
  });

  const TOO_MANY = new MalformedRequestError('The form has too many parts. Send file, language and channels.');
  const texts = (count: number): Buffer[] => Array.from({ length: count }, (_, i) => textPart(`f${i}`, 'x'));
  const nothing = part(['X-Nothing: 1'], 'x');

  it('takes as many parts as the form may have beside its file, also those of no use', async () => {
    expect(await refusalOf(form(...texts(3), FILE))).toBeNull();
    expect(received).toHaveLength(3);
    expect(await refusalOf(form(FILE, nothing, nothing, nothing))).toBeNull();
    expect(await refusalOf(form(FILE, ...texts(4)))).toEqual(TOO_MANY);
    expect(await refusalOf(form(FILE, nothing, nothing, nothing, nothing))).toEqual(TOO_MANY);
  });

  it.each<[string, Buffer, string, string]>([
    ['no file', form(...texts(1)), 'file', 'is required. With curl: -F file=@note.ogg'],
    ['two files', form(FILE, FILE), 'file', 'may be given only once'],
    ['a file as text', form(textPart('file', 'sound')), 'file', 'was sent as text. With curl: -F file=@note.ogg'],
    [
      'a file of another name',
      form(filePart('x', 'a.wav', 'audio')),
      'audio',
      'is not a field of this form. Use file, language or channels',
    ],
  ])('refuses %s', async (_, body, field, reason) => {
    expect(await refusalOf(body)).toEqual(new InvalidRequestError({ field, reason }));
    expect(steps).toEqual(['created', 'discarded']);
  });

  it('survives the end of a file that it has refused while it arrived', async () => {
    const request = requestOf();
    request.write(filePart('x', 'a.wav', 'audio').subarray(0, -2));
    await expect(read(request)).rejects.toThrow('audio is not a field of this form');
    await later();
    expect(steps).toEqual(['created', 'discarded']);
  });

  it('refuses what the fields refuse, and gives the file as text to none of them', async () => {
    refusal = new InvalidRequestError({ field: 'language', reason: 'is none' });
    expect(await refusalOf(form(FILE, textPart('language', 'x')))).toBe(refusal);
    received = [];
    await refusalOf(form(textPart('file', 'sound')));
    expect(received).toEqual([]);
  });

  it.each([
    ['cut off in the file', form(FILE).subarray(0, -30)],
    ['without an end', form(FILE).subarray(0, -4)],
    ['without boundaries', Buffer.from('x')],
    ['with a broken part header', form(part(['Content-Disposition: form-data; name="file"\0'], 'x'))],
  ])('refuses a body %s', async (_, body) => {
    const malformed = new MalformedRequestError('The multipart body is malformed or incomplete.');
    expect(await refusalOf(body)).toEqual(malformed);
    expect(steps).toEqual(['created', 'discarded']);
  });

  it('removes the file before it says that it could not be written, and takes the rest of the body', async () => {
    fails = new Error('no room');
    const request = requestOf();
    request.write(form(FILE));
    await expect(read(request)).rejects.toBe(fails);
    expect(steps).toEqual(['created', 'discarded']);
    const ended = new Promise((resolve) => void request.once('end', resolve));
    request.end(Buffer.alloc(100_000));
    request.resume();
    await ended;
  });

  it.each<[string, (request: ReturnType<typeof requestOf>) => void]>([
    ['in the middle', (request) => request.destroy()],
    ['with an error', (request) => request.destroy(new Error('ECONNRESET'))],
  ])('removes the file of a client that leaves %s, which is no failure of the service', async (_, leave) => {
    const request = Object.assign(requestOf(), { complete: false });
    request.write(FILE.subarray(0, -2));
    const reading = read(request);
    await later();
    leave(request);
    await expect(reading).rejects.toMatchObject({ name: 'ClientDisconnectedError', status: 400 });
    expect(steps).toEqual(['created', 'discarded']);
  });

  it('notices a client that left while the file was created', async () => {
    const request = requestOf();
    request.destroy();
    await expect(read(request)).rejects.toMatchObject({ name: 'ClientDisconnectedError' });
    expect(steps).toEqual(['created', 'discarded']);
  });

  it('accepts a request that is closed after all of it was read', async () => {
    const request = requestOf();
    request.write(form(FILE));
    const reading = read(request);
    request.end();
    request.once('end', () => request.emit('close'));
    expect(await reading).toMatchObject({ originalFilename: 'note.wav' });
  });
});

describe('cleanFilename', () => {
  it.each([
    ['a plain name', 'note.wav', 'note.wav'],
    ['letters of any script, and emoji', 'Grüße 日本 🎙.webm', 'Grüße 日本 🎙.webm'],
    ['a Unix path', '../../etc/passwd.wav', 'passwd.wav'],
    ['a Windows path', 'C:\\dir\\note.wav', 'note.wav'],
    ['both separators', 'a\\b/c\\note.wav', 'note.wav'],
    ['what forms escape, and nothing else', '50%25 of %22it%22%0D%0A.wav', '50%25 of "it".wav'],
    ['line breaks', 'no\r\nte.wav', 'note.wav'],
    ['NUL, escape, delete and C1 controls', 'n\0o\x1bt\x7fe\x85.wav', 'note.wav'],
    ['a bidi override', 'evil\u202Evaw.exe', 'evilvaw.exe'],
    ['zero-width characters, soft hyphen, byte order mark', '\ufeffn\u200bo\u200dt\u00ade\u2060.wav', 'note.wav'],
    ['tag characters', 'note\u{e0041}.wav', 'note.wav'],
    ['line and paragraph separators', 'no\u2028te\u2029.wav', 'note.wav'],
    ['lone surrogates', 'no\ud800te\udc00.wav', 'note.wav'],
    ['decomposed letters', 'u\u0308ber.wav', 'über.wav'],
    ['space around', '  note.wav \u00a0', 'note.wav'],
    ['dots that a hidden character kept apart', '.\u200b.', 'recording'],
    ['a separator at the end', 'dir/', 'recording'],
  ])('cleans %s', (_, raw, clean) => {
    expect(cleanFilename(raw)).toBe(clean);
  });

  it.each([undefined, '', ' ', '.', '..', '/', '\\', '../..', '\u202e', 'a/..'])('names %j "recording"', (raw) => {
    expect(cleanFilename(raw)).toBe('recording');
  });

  it('cuts at 255 code points and keeps the extension', () => {
    expect(cleanFilename(`${'a'.repeat(300)}.wav`)).toBe(`${'a'.repeat(251)}.wav`);
    expect(cleanFilename(`${'🎙'.repeat(300)}.webm`)).toBe(`${'🎙'.repeat(250)}.webm`);
    expect(cleanFilename('🎙'.repeat(255))).toBe('🎙'.repeat(255));
  });

  it('cuts a name without a real extension at its end', () => {
    expect(cleanFilename('a'.repeat(300))).toBe('a'.repeat(255));
    expect(cleanFilename(`${'a'.repeat(200)}.${'b'.repeat(200)}`)).toBe(`${'a'.repeat(200)}.${'b'.repeat(54)}`);
    expect(cleanFilename(`.${'a'.repeat(300)}`)).toBe(`.${'a'.repeat(254)}`);
  });

  it('leaves no space at the end of what it cuts', () => {
    expect(cleanFilename(`${'a'.repeat(254)} b`)).toBe('a'.repeat(254));
    expect(cleanFilename(`.${' '.repeat(254)}b`)).toBe('recording');
  });

  it('cleans any name, and does not change a clean one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (raw) => {
        const name = cleanFilename(raw);
        const length = Array.from(name).length;
        expect(length).toBeGreaterThan(0);
        expect(length).toBeLessThanOrEqual(255);
        expect(name).not.toMatch(/^\.{1,2}$|[/\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(cleanFilename(name)).toBe(name);
      }),
    );
  });
});
