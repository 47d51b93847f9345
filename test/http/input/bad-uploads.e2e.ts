import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import {
  expectAlive,
  expectHarmless,
  expectNothingKept,
  HEALTHY_MS,
  watchHealth,
} from '../../support/http/expect-unharmed.js';
import { notAudio, silenceWav, silentMp3, wavOfBytes } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { ServiceProcess } from '../../support/service/service-process.js';
import { BOUNDARY, filePart, form, FORM_TYPE, part, textPart } from '../../support/http/multipart.js';
import { forgetPeak, memoryOf } from '../../support/service/process-stats.js';
import { type Answer, chunk, exchange, head, type Header, RawConnection } from '../../support/http/clients/raw-http.js';
import { expectInvalid, expectError } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { type UploadState, uploadState } from '../../support/state/upload-state.js';

const MAX_BYTES = 26_214_400;
/** For so long the rest of a refused upload is still read. */
const GRACE_MS = 1000;
const FORMATS = /webm, mp3, ogg, wav, m4a, aac, flac or amr/;
const FILE_HEADERS = ['Content-Disposition: form-data; name="file"; filename="note.wav"', 'Content-Type: audio/wav'];
const OCTETS = 'Content-Type: application/octet-stream';
const NOTE = silenceWav(0.1);
const FORM = form(filePart(NOTE));

describe('a bad upload is refused, and nothing of it is kept', () => {
  let client: ApiClient;
  let before: UploadState;

  const service = useService({ ROLES: 'api' });
  const { environment } = service;

  beforeAll(async () => {
    client = await service.account();
    before = await uploadState(service, environment);
  });

  afterEach(async () => {
    RawConnection.destroyAll();
    await expectAlive(service.url);
  });

  /** After the tests of a group, each of which sends nothing that may be kept. */
  const keepsNothing = (): void => afterAll(() => expectNothingKept(service, environment, before));

  /** The head of an upload. @param framing Content-Length, or what stands in its place */
  const uploadHead = (framing: Header, type = FORM_TYPE, more: Header[] = []): string =>
    head('POST', '/v1/recordings', [...Object.entries(client.headers), ['Content-Type', type], framing, ...more]);
  const byLength = (bytes: number): Header => ['Content-Length', bytes];
  const CHUNKED: Header = ['Transfer-Encoding', 'chunked'];

  async function upload(body: Buffer, type = FORM_TYPE, more: Header[] = []): Promise<Answer> {
    const answer = await exchange(service.url, uploadHead(byLength(body.length), type, more), body);
    expectHarmless(answer);
    return answer;
  }

  /** Checks that it was accepted whole, and takes it back. @returns what was made of it */
  async function acceptedAndDeleted(answer: Answer): Promise<Record<string, string | number>> {
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
    const { id, s3_key: key, audio_format: format } = answer.body;
    expect(key).toMatch(new RegExp(`^${client.accountId}/\\d{4}/\\d{2}/${id}\\.${format}$`));
    const { size } = await stat(join(environment.variables.STORAGE_DIR as string, 'objects', key));
    expect(size).toBe(answer.body.file_size_bytes);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    return answer.body;
  }

  describe('form', () => {
    keepsNothing();

    it('is refused with a part that it must not have, or without its file, and the part named (D20)', () =>
      checkRows<[what: string, body: Buffer, field: string]>(
        [
          ['no file part', form(textPart('language', 'english')), 'file'],
          ['no part at all', form(), 'file'],
          ['two file parts', form(filePart(NOTE), filePart(NOTE)), 'file'],
          ['two file parts, the second under another name', form(filePart(NOTE), filePart(NOTE, 'a', 'b')), 'file'],
          ['a file under another name', form(filePart(NOTE, 'note.wav', 'audio')), 'audio'],
          ['a file without a name of its part', form(part([FILE_HEADERS[0]!.replace(' name="file";', '')], NOTE)), ''],
          ['the file as text', form(textPart('file', NOTE)), 'file'],
          ['an unknown text field', form(textPart('tags', '{}'), filePart(NOTE)), 'tags'],
          ['an unknown text field behind the file', form(filePart(NOTE), textPart('user_id', 'x')), 'user_id'],
          ['a field without a name', form(part(['Content-Disposition: form-data'], 'x'), filePart(NOTE)), ''],
          ['a field twice', form(textPart('language', 'a'), textPart('language', 'b'), filePart(NOTE)), 'language'],
          ['a field of 17 kB', form(textPart('language', 'x'.repeat(17_000)), filePart(NOTE)), 'language'],
          ['20,000 text fields', form(...fields(20_000, (i) => `field${i}`)), 'field0'],
          ['an empty file', form(filePart('')), 'file'],
          ['tags that are no object', form(filePart(NOTE), textPart('custom_tags', '[]')), 'custom_tags'],
          ['tags with a raw NUL', form(textPart('custom_tags', '{"a":"\0"}'), filePart(NOTE)), 'custom_tags'],
          ['tags 2,500 deep', form(textPart('custom_tags', '{"a":'.repeat(2_500)), filePart(NOTE)), 'custom_tags'],
          ['a language with a NUL', form(textPart('language', 'english\0'), filePart(NOTE)), 'language'],
        ],
        async (_, body, field) => expectInvalid(await upload(body), field),
      ));

    it('never drops a field with an unknown character set', async () => {
      const lines = ['Content-Disposition: form-data; name="custom_tags"', 'Content-Type: text/plain; charset=x-none'];
      const answer = await upload(form(part(lines, '{"a":"b"}'), filePart(NOTE)));
      // The parser reads it as UTF-8 when Jest has translated it, and gives up on it otherwise.
      if (answer.status === 400) expectInvalid(answer, 'custom_tags', /UTF-8/);
      else expect(await acceptedAndDeleted(answer)).toMatchObject({ custom_tags: { a: 'b' } });
    });

    it('is refused when it is none, is broken, cut off or compressed (2002)', () =>
      checkRows<[what: string, body: Buffer, type?: string, headers?: Header[]]>(
        [
          ['a part header of 70 kB', form(part([...FILE_HEADERS, `X-Padding: ${'x'.repeat(70_000)}`], NOTE))],
          ['a part header of 5,000 lines', form(part([...FILE_HEADERS, ...headerLines(5_000)], NOTE))],
          ['a part header without an end', Buffer.from(`--${BOUNDARY}\r\n${FILE_HEADERS.join('\r\n')}`)],
          ['a NUL in a part header', form(filePart(NOTE, 'note\0.wav'))],
          ['a raw CR LF in a file name', form(filePart(NOTE, 'note\r\n.wav'))],
          ['an empty body', Buffer.alloc(0)],
          ['a body without boundaries', NOTE],
          ['another boundary', Buffer.from(FORM.toString('latin1').replaceAll(BOUNDARY, 'b'))],
          ['a body cut off in the file', FORM.subarray(0, 1_000)],
          ['a body cut off before its end', FORM.subarray(0, -4)],
          ['cut off in a field', Buffer.concat([filePart(NOTE), textPart('language', 'eng').subarray(0, -5)])],
          ['multipart without a boundary', FORM, 'multipart/form-data'],
          ['a boundary of 7,000 characters', FORM, `multipart/form-data; boundary=${'b'.repeat(7_000)}`],
          ['an empty boundary', FORM, 'multipart/form-data; boundary=""'],
          ['a malformed Content-Type', FORM, 'multipart/form-data; boundary'],
          ['another multipart', FORM, `multipart/mixed; boundary=${BOUNDARY}`],
          ['JSON', Buffer.from('{"file":"UklGRg=="}'), 'application/json'],
          ['a URL-encoded form', Buffer.from('file=UklGRg'), 'application/x-www-form-urlencoded'],
          ['the bare audio', NOTE, 'audio/wav'],
          ['a compressed body', gzipSync(FORM), FORM_TYPE, [['Content-Encoding', 'gzip']]],
          ['a body that only says it is compressed', FORM, FORM_TYPE, [['Content-Encoding', 'br']]],
          ['one that is compressed twice', gzipSync(gzipSync(FORM)), FORM_TYPE, [['Content-Encoding', 'gzip, gzip']]],
        ],
        async (_, body, type, headers) => expectError(await upload(body, type, headers), 'MalformedRequestError'),
      ));

    it('is taken with any boundary that MIME allows', async () => {
      for (const boundary of [
        "70 characters of the alphabet '()+_,-./:=? and a blank in it".padEnd(70, '-'),
        '-',
        '----',
      ]) {
        const body = Buffer.from(FORM.toString('latin1').replaceAll(BOUNDARY, boundary), 'latin1');
        await acceptedAndDeleted(await upload(body, `Multipart/Form-Data; charset=utf-8; boundary="${boundary}"`));
      }
    });

    it('accepts an upload of a client that waits for 100 Continue, and refuses at once where it can', async () => {
      const body = form(filePart(NOTE));
      const connection = await RawConnection.open(service.url);
      await connection.send(uploadHead(byLength(body.length), FORM_TYPE, [['Expect', '100-continue']]));
      await eventually(() => connection.unread.startsWith('HTTP/1.1 100 '));
      await connection.send(body);
      await acceptedAndDeleted(await connection.answer());

      const refusal = await exchange(
        service.url,
        uploadHead(byLength(10 ** 9), FORM_TYPE, [['Expect', '100-continue']]),
      );
      expectError(refusal, 'PayloadTooLargeError', { max_bytes: MAX_BYTES });
    });

    it('takes a User-Agent of any bytes that HTTP allows, and keeps text', async () => {
      const agent = `\xe4\xff\x80\xad${'x'.repeat(2_000)}`;
      const { user_agent: kept } = await acceptedAndDeleted(
        await upload(form(filePart(NOTE)), FORM_TYPE, [['User-Agent', agent]]),
      );
      expect(kept).toBe(agent.slice(0, 512));
    });

    it('refuses an upload without a Content-Type', async () => {
      const body = form(filePart(NOTE));
      const bare = head('POST', '/v1/recordings', [...Object.entries(client.headers), byLength(body.length)]);
      expectError(await exchange(service.url, bare, body), 'MalformedRequestError');
    });

    it('is refused within 100 ms whatever the name of a field is', () =>
      checkRows<[name: string, type?: 'MalformedRequestError']>(
        [
          ['a[4294967294]'],
          ['a[x]'],
          ['file[4294967294]'],
          [`a${'[b]'.repeat(5_000)}`],
          [`a${'[b]'.repeat(20_000)}`, 'MalformedRequestError'],
          ['__proto__[x]'],
          ['__proto__'],
          ['constructor[prototype][x]'],
          ['toString'],
          ['\udcff'],
        ],
        async (name, type) => {
          const body = form(textPart(name, '1'), textPart('a[x]', '2'), filePart(NOTE));
          const times: number[] = [];
          // The best of some, since other programs share the machine.
          for (let run = 0; run < 30 && (times.length === 0 || Math.min(...times) >= 100); run++) {
            const answer = await upload(body);
            if (type) expectError(answer, type);
            else expectInvalid(answer, Buffer.from(name).toString());
            times.push(answer.afterMs);
          }
          expect(Math.min(...times)).toBeLessThan(100);
          expect(({} as Record<string, unknown>).x).toBeUndefined();
        },
      ));
  });

  describe('file', () => {
    keepsNothing();

    it('is refused when its content is no audio, whatever it is called (D21)', async () => {
      const others: [what: string, bytes: Buffer][] = [
        ['a magic cut short', Buffer.from('RIFF\x24\0\0\0WAV', 'latin1')],
        ['4 KiB of zeros', Buffer.alloc(4096)],
        ['a WAV behind a space', Buffer.concat([Buffer.from(' '), NOTE])],
        ['an ID3 tag that goes on behind the end', Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1')],
        [
          'a dozen ID3 tags',
          Buffer.concat([...Array<Buffer>(12).fill(Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1')), silentMp3(1)]),
        ],
      ];
      const known = Object.entries(notAudio).map(([what, make]) => [what, make()] as const);
      await checkRows([...known, ...others], async (_, bytes) => {
        expectInvalid(await upload(form(filePart(bytes, 'note.mp3', 'file', 'audio/mpeg'))), 'file', FORMATS);
      });
    });

    it('is kept under a clean base name (D22)', () =>
      checkRows<[what: string, bytes: Buffer, kept: string]>(
        [
          ['a path', filePart(NOTE, '../../etc/passwd.wav'), 'passwd.wav'],
          ['a path of Windows', filePart(NOTE, 'C:\\dir\\note.wav'), 'note.wav'],
          ['dots alone', filePart(NOTE, '..'), 'recording'],
          ['CR LF as browsers write it', filePart(NOTE, 'note%0D%0AX-Evil: 1.wav'), 'noteX-Evil: 1.wav'],
          ['CR LF in a folded header', filePart(NOTE, 'note\r\n .wav'), 'note .wav'],
          ['300 characters', filePart(NOTE, `${'x'.repeat(296)}.wav`), `${'x'.repeat(251)}.wav`],
          ['UTF-8', filePart(NOTE, 'Grüße 🎤 録音.wav'), 'Grüße 🎤 録音.wav'],
          ['an encoded CR LF', encodedName("UTF-8''..%2F%0D%0Anote%00.wav"), 'note.wav'],
          ['encoded bytes that are no UTF-8', encodedName("UTF-8''n%FFote.wav"), 'n\ufffdote.wav'],
          ['no name', part(['Content-Disposition: form-data; name="file"', OCTETS], NOTE), 'recording'],
        ],
        async (_, bytes, kept) => {
          expect(await acceptedAndDeleted(await upload(form(bytes)))).toMatchObject({ original_filename: kept });
        },
      ));

    it('with a lone surrogate in its encoded name has a name without it', async () => {
      const { original_filename: kept } = await acceptedAndDeleted(
        await upload(form(encodedName("UTF-16LE''%00%D8n%00.wav"))),
      );
      expect(kept).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}/\\]/u);
    });
  });

  describe('size', () => {
    keepsNothing();

    const opening = (): Buffer => filePart('').subarray(0, -2);
    const closing = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
    const lengthWith = (fileBytes: number): number => opening().length + fileBytes + closing.length;

    it.each(['with a length', 'chunked'])('takes exactly 26,214,400 bytes %s (D21)', async (how) => {
      const parts = [opening(), wavOfBytes(MAX_BYTES), closing];
      const answer =
        how === 'chunked'
          ? await exchange(service.url, uploadHead(CHUNKED), ...parts.map(chunk), chunk(Buffer.alloc(0)))
          : await exchange(service.url, uploadHead(byLength(lengthWith(MAX_BYTES))), ...parts);
      expect(await acceptedAndDeleted(answer)).toMatchObject({
        file_size_bytes: MAX_BYTES,
        duration_seconds: 819.199,
      });
    });

    it.each(['with a length', 'chunked'])(
      'refuses one byte more %s, before the end of the body (2013)',
      async (how) => {
        const connection = await RawConnection.open(service.url);
        const bytes = [opening(), wavOfBytes(MAX_BYTES + 1)];
        await connection.send(uploadHead(how === 'chunked' ? CHUNKED : byLength(lengthWith(MAX_BYTES + 1))));
        for (const piece of bytes) await connection.send(how === 'chunked' ? chunk(piece) : piece);
        // The end of the body is never sent.
        expectError(await connection.answer(), 'PayloadTooLargeError', { max_bytes: MAX_BYTES });
        connection.destroy();
      },
    );

    it('refuses a length that is too much before a byte of the body is sent', async () => {
      for (const length of [MAX_BYTES + 65_537, 10 ** 10, Number.MAX_SAFE_INTEGER]) {
        const answer = await exchange(service.url, uploadHead(byLength(length)));
        expectError(answer, 'PayloadTooLargeError', { max_bytes: MAX_BYTES });
      }
    });

    const endless: [what: string, first: Buffer][] = [
      ['a file', opening()],
      ['what stands before the first part', Buffer.alloc(0)],
      ['what stands behind the last part', form(filePart(NOTE))],
      ['a text field', textPart('language', '').subarray(0, -2)],
      ['a part without a name or a purpose', part(['X-Nothing: 1'], '').subarray(0, -2)],
    ];
    it('ends a chunked body that goes on for ever, wherever it does', () =>
      checkRows(endless, async (what, first) => {
        const connection = await RawConnection.open(service.url);
        await connection.send(uploadHead(CHUNKED));
        if (first.length > 0) await connection.send(chunk(first));
        const piece = chunk(Buffer.alloc(65_536, 'x'));
        let sent = 0;
        const flood = (async () => {
          while (await connection.send(piece)) sent += piece.length;
          return connection.age;
        })();
        const answer = await connection.answer();
        const sentAtAnswer = sent;
        const brokenAfterMs = await flood;

        expectHarmless(answer);
        expectError(answer, 'PayloadTooLargeError', { max_bytes: MAX_BYTES });
        expect(what === 'a text field' || sentAtAnswer >= MAX_BYTES - 4 * 65_536).toBe(true);
        expect(sentAtAnswer).toBeLessThan(MAX_BYTES + 12_000_000);
        const graceMs = brokenAfterMs - answer.afterMs;
        reportMeasurement(
          `endless ${what}: answer after ${mb(sentAtAnswer)} and ${Math.round(answer.afterMs)} ms, broken ${Math.round(graceMs)} ms later`,
        );
        expect(graceMs).toBeGreaterThan(500);
        expect(graceMs).toBeLessThan(4000);
      }));

    it('lets a client that only reads after it has sent see the 413', async () => {
      const body = Buffer.concat([opening(), wavOfBytes(MAX_BYTES + 60_000)]);
      const status = await eventually(async () => {
        const connection = await RawConnection.open(service.url);
        connection.stopReading();
        await connection.send(uploadHead(byLength(lengthWith(MAX_BYTES + 60_000))));
        const started = performance.now();
        await connection.send(body);
        connection.resumeReading();
        expect((await connection.answer()).status).toBe(413);
        // The rest arrives within the second of grace: the connection is as good as new.
        await connection.send(closing);
        const isInTime = performance.now() - started < GRACE_MS;
        await connection.send(head('GET', '/v1/account', Object.entries(client.headers)));
        const next = await connection.answer().catch((error: unknown) => {
          // A busy machine may have taken longer.
          if (isInTime) throw error;
          return null;
        });
        connection.destroy();
        return next?.status;
      });
      expect(status).toBe(200);
    });
  });

  describe('broken off', () => {
    keepsNothing();

    it.each(['with a length', 'chunked'])(
      'keeps nothing of an upload that is broken off after 3 MB %s',
      async (how) => {
        for (const breakOff of ['destroy', 'end'] as const) {
          const connection = await RawConnection.open(service.url);
          await connection.send(uploadHead(how === 'chunked' ? CHUNKED : byLength(20_000_000)));
          const bytes = Buffer.concat([filePart('').subarray(0, -2), wavOfBytes(3_000_000)]);
          await connection.send(how === 'chunked' ? chunk(bytes) : bytes);
          await eventuallySpooled(1);
          connection[breakOff]();
          await connection.closed;
          await expectNothingKept(service, environment, before);
        }
      },
    );

    it('keeps nothing of uploads that are broken off right behind their heads', async () => {
      const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(service.url)));
      await Promise.all(connections.map((connection) => connection.send(uploadHead(byLength(1_000)))));
      for (const connection of connections) connection.destroy();
      await delay(200);
      await expectNothingKept(service, environment, before);
    });

    it('keeps nothing of uploads that are broken off at any moment', async () => {
      const body = form(filePart(NOTE), textPart('language', 'english'));
      for (let ms = 0; ms < 30; ms++) {
        const connection = await RawConnection.open(service.url);
        await connection.send(Buffer.concat([Buffer.from(uploadHead(byLength(body.length + 1))), body]));
        await delay(ms);
        connection.destroy();
      }
      await expectNothingKept(service, environment, before);
    });
  });

  async function eventuallySpooled(files: number): Promise<void> {
    for (let i = 0; i < 200; i++) {
      if ((await uploadState(service, environment)).spooled.length >= files) return;
      await delay(20);
    }
    throw new Error('nothing arrived in the spool');
  }
});

describe('uploads of 25 MB at the same time', () => {
  /** Together larger than the memory that they may take. */
  const UPLOADS = 8;
  let built: ServiceProcess;

  const service = useService({ ROLES: 'api' });
  const { environment } = service;

  beforeAll(async () => {
    built = await ServiceProcess.start(environment, 'api');
  });

  afterAll(async () => {
    await built.end('SIGTERM');
  });

  /** @returns the answers, whole uploads that are sent 1 MB at a time so that they go side by side */
  async function uploadAll(client: ApiClient, fileBytes: number, breakOff: boolean): Promise<(Answer | null)[]> {
    const opening = Buffer.concat([filePart('').subarray(0, -2), wavOfBytes(44)]);
    const closing = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
    const piece = Buffer.alloc(1_000_000);
    const length = opening.length - 44 + fileBytes + closing.length;
    const headers: Header[] = [
      ...Object.entries(client.headers),
      ['Content-Type', FORM_TYPE],
      ['Content-Length', length],
    ];
    return await Promise.all(
      Array.from({ length: UPLOADS }, async () => {
        const connection = await RawConnection.open(built.url);
        await connection.send(head('POST', '/v1/recordings', headers));
        await connection.send(opening);
        for (let left = fileBytes - 44; left > 0; left -= piece.length) {
          if (breakOff && left < fileBytes / 2) return connection.destroy() ?? null;
          await connection.send(piece.subarray(0, left));
        }
        await connection.send(closing);
        const answer = await connection.answer(60_000);
        connection.destroy();
        return answer;
      }),
    );
  }

  it('leave the process small and alive, whether they arrive whole, are too large, or are broken off', async () => {
    const client = await service.account();
    const atRest = memoryOf(built.pid).resident;
    forgetPeak(built.pid);
    const health = watchHealth(built.url, built.pid);
    const started = performance.now();

    const whole = await uploadAll(client, MAX_BYTES, false);
    const seconds = (performance.now() - started) / 1000;
    const tooLarge = await uploadAll(client, MAX_BYTES + 40_000, false);
    await uploadAll(client, MAX_BYTES, true);
    const slowest = await health.stop();

    expect(whole.map((answer) => answer?.status)).toEqual(Array(UPLOADS).fill(201));
    expect(tooLarge.map((answer) => answer?.status)).toEqual(Array(UPLOADS).fill(413));
    const { peak } = memoryOf(built.pid);
    reportMeasurement(
      `${UPLOADS} × 25 MB: ${seconds.toFixed(1)} s, at rest ${mb(atRest)}, peak ${mb(peak)}, ` +
        `health at worst ${Math.round(slowest)} ms`,
    );
    expect(peak).toBeLessThan(atRest + 150_000_000);
    expect(slowest).toBeLessThan(HEALTHY_MS);
    expect(built.exit).toBeNull();
    const kept = await uploadState(service, environment);
    expect(kept.objects).toHaveLength(UPLOADS);
    await expectNothingKept(service, environment, { ...kept, recordings: UPLOADS, spooled: [], removals: [] });
  });
});

const encodedName = (name: string): Buffer =>
  part([`Content-Disposition: form-data; name="file"; filename*=${name}`, 'Content-Type: audio/wav'], NOTE);
const fields = (count: number, name: (i: number) => string): Buffer[] =>
  Array.from({ length: count }, (_, i) => textPart(name(i), 'x'));
const headerLines = (count: number): string[] => Array.from({ length: count }, (_, i) => `X-${i}: 12345678`);
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
