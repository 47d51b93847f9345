import { Readable, Writable } from 'node:stream';
import type { Request, Response } from 'express';
import { Registry } from 'prom-client';
import type { Principal } from '../../../access/principal.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import {
  AccountSuspendedError,
  AuthenticationError,
  NotFoundError,
  PreconditionFailedError,
  RangeNotSatisfiableError,
} from '../../../platform/errors/errors.js';
import type { ObjectStore } from '../../../platform/storage/object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/file-system.js';
import type { Recording } from '../recording.entity.js';
import type { RecordingsService } from '../recordings.service.js';
import { AudioDownloadService } from './audio-download.service.js';
import type { AudioGrant, AudioUrlsService } from './audio-urls.service.js';

const CREATED = new Date('2026-11-21T10:15:00.400Z');
const RECORDING = {
  id: 'r',
  createdAt: CREATED,
  fileSizeBytes: 5,
  audioFormat: 'wav',
  originalFilename: 'note.wav',
  objectKey: 'a/r.wav',
} as Recording;
const FILE_HEADERS = {
  etag: '"r"',
  'last-modified': 'Sat, 21 Nov 2026 10:15:00 GMT',
  'accept-ranges': 'bytes',
  'content-disposition': `attachment; filename="note.wav"; filename*=UTF-8''note.wav`,
};

describe('AudioDownloadService', () => {
  let steps: unknown[][];
  let isThere: boolean;
  let grant: AudioGrant | null;
  let access: { suspended: boolean; keyIsValid: boolean } | undefined;
  let readError: Error | null;
  let registry: Registry;
  let downloads: AudioDownloadService;

  beforeEach(() => {
    [steps, isThere, grant, readError] = [[], true, { accountId: 'a', recordingId: 'r', signer: { keyId: 'k' } }, null];
    access = { suspended: false, keyIsValid: true };
    registry = new Registry();
    const recordings = {
      get: async (...given: unknown[]) => {
        steps.push(['get', ...given]);
        if (!isThere) throw new NotFoundError('recording');
        return RECORDING;
      },
    };
    const urls = {
      sign: async (...given: unknown[]) => {
        steps.push(['sign', ...given]);
        return 'signed';
      },
      verify: async () => grant,
    };
    const database = {
      prepared: async (_: string, parameters: unknown[]) => {
        steps.push(['access', ...parameters]);
        return access ? [access] : [];
      },
    };
    const objectStore = {
      read: async (key: string, { start, end }: { start: number; end: number }) => {
        steps.push(['read', key, start, end, await gauge()]);
        if (readError) throw readError;
        return Readable.from([Buffer.from('sound').subarray(start, end + 1)]);
      },
    };
    downloads = new AudioDownloadService(
      recordings as unknown as RecordingsService,
      urls as unknown as AudioUrlsService,
      database as unknown as DatabaseService,
      objectStore as unknown as ObjectStore,
      registry,
    );
  });

  const valueOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  const gauge = () => valueOf('audio_downloads');

  describe('createUrl', () => {
    const principal = (changes: Partial<Principal> = {}): Principal =>
      ({ accountId: 'a', keyId: 'k', sessionId: null, keyExpiresAt: CREATED, ...changes }) as Principal;

    it('signs for a recording of the account, and for no longer than the key', async () => {
      expect(await downloads.createUrl(principal(), 'r')).toBe('signed');
      expect(steps).toEqual([
        ['get', 'a', 'r'],
        ['sign', { accountId: 'a', recordingId: 'r', signer: { keyId: 'k' } }, CREATED],
      ]);
    });

    it('signs nothing without the recording, or without a key', async () => {
      await expect(downloads.createUrl(principal({ keyId: null }), 'r')).rejects.toThrow('only a key pair');
      isThere = false;
      await expect(downloads.createUrl(principal(), 'r')).rejects.toThrow(NotFoundError);
      expect(steps).toEqual([['get', 'a', 'r']]);
    });
  });

  describe('findSigned', () => {
    it('gives the recording of the account that signed, while its key is valid', async () => {
      expect(await downloads.findSigned('r', 'token')).toBe(RECORDING);
      expect(steps).toEqual([
        ['access', 'a', 'k'],
        ['get', 'a', 'r'],
      ]);
    });

    it.each<[string, () => void, new (...given: never[]) => Error]>([
      ['a token that is not valid', () => (grant = null), AuthenticationError],
      ['a token for another recording', () => (grant!.recordingId = 'x'), AuthenticationError],
      ['an account that is gone', () => (access = undefined), AuthenticationError],
      ['a key that is not valid', () => (access!.keyIsValid = false), AuthenticationError],
      [
        'a key that is not valid of a suspended account',
        () => (access = { suspended: true, keyIsValid: false }),
        AuthenticationError,
      ],
      ['a suspended account', () => (access!.suspended = true), AccountSuspendedError],
    ])('refuses %s', async (_, change, error) => {
      change();
      const refused = downloads.findSigned('r', 'token');
      await expect(refused).rejects.toThrow(error);
      if (error === AuthenticationError) await expect(refused).rejects.toThrow('Create a new one with POST');
      expect(steps.some(([step]) => step === 'get')).toBe(false);
    });
  });

  describe('send', () => {
    /** Of the last answer. */
    let headers: Record<string, unknown>;
    let status: number;
    let body: string;

    async function send(requestHeaders = {}, { method = 'GET', recording = RECORDING } = {}): Promise<void> {
      [headers, status, body] = [{}, 0, ''];
      const response = new Writable({
        write: (chunk: Buffer, _, done) => {
          body += chunk.toString();
          done();
        },
      });
      Object.assign(response, {
        headersSent: false,
        setHeader: (name: string, value: unknown) => void (headers[name.toLowerCase()] = value),
        removeHeader: (name: string) => void delete headers[name.toLowerCase()],
        status: (code: number) => {
          status = code;
          return response;
        },
      });
      const request = { method, headers: requestHeaders } as Request;
      await downloads.send(recording, 'attachment', request, response as unknown as Response);
    }

    it('answers with the audio and what is known of it, and counts what it sends', async () => {
      await send();
      expect([status, body]).toEqual([200, 'sound']);
      expect(headers).toEqual({ ...FILE_HEADERS, 'content-type': 'audio/wav', 'content-length': 5 });
      expect(steps).toEqual([['read', 'a/r.wav', 0, 4, 1]]);
      expect([await gauge(), await valueOf('audio_download_bytes_total')]).toEqual([0, 5]);
    });

    it.each([
      ['webm', 'audio/webm'],
      ['mp3', 'audio/mpeg'],
      ['ogg', 'audio/ogg'],
      ['wav', 'audio/wav'],
      ['m4a', 'audio/mp4'],
      ['aac', 'audio/aac'],
      ['flac', 'audio/flac'],
      ['amr', 'audio/amr'],
    ])('sends %s as %s', async (audioFormat, type) => {
      await send({}, { recording: { ...RECORDING, audioFormat } as Recording });
      expect(headers['content-type']).toBe(type);
    });

    it('sends a range, but to HEAD, and the whole where If-Range names another file', async () => {
      await send({ range: 'bytes=1-2' });
      expect([status, body, headers['content-range']]).toEqual([206, 'ou', 'bytes 1-2/5']);
      await send({ range: 'bytes=1-2', 'if-range': '"r"' });
      expect(status).toBe(206);
      await send({ range: 'bytes=1-2', 'if-range': '"other"' });
      expect([status, body]).toEqual([200, 'sound']);
      await send({ range: 'bytes=1-2' }, { method: 'HEAD' });
      expect([status, body, headers['content-length']]).toEqual([200, '', 5]);
    });

    it('sends nothing of what the client has, with its validators', async () => {
      await send({ 'if-none-match': '"r"' });
      expect([status, body, steps]).toEqual([304, '', []]);
      expect(headers).toEqual(FILE_HEADERS);
    });

    it.each<[string, object, Error | null, Error, object]>([
      ['a condition that fails', { 'if-match': '"x"' }, null, new PreconditionFailedError('The audio', '"r"'), {}],
      [
        'a range behind the end',
        { range: 'bytes=5-' },
        null,
        new RangeNotSatisfiableError(5),
        { 'content-range': 'bytes */5' },
      ],
      ['an object that is gone', {}, new ObjectNotFoundError('a/r.wav'), new NotFoundError('audio'), {}],
      [
        'a store that does not answer',
        {},
        new StorageUnavailableError('down'),
        new StorageUnavailableError('down'),
        {},
      ],
    ])('removes the headers of the file from the answer to %s', async (_, asked, failure, error, others) => {
      readError = failure;
      await expect(send(asked)).rejects.toEqual(error);
      expect(headers).toEqual({ 'accept-ranges': 'bytes', ...others });
      expect(await gauge()).toBe(0);
    });
  });
});
