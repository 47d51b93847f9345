import { PassThrough } from 'node:stream';
import type { Request } from 'express';
import { FORM_TYPE, filePart, form } from '../../../../test/support/http/multipart.js';
import type { Quotas } from '../../../access/plans.js';
import type { Principal } from '../../../access/principal.js';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import { QuotaExceededError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import type { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import type { Spool } from '../../../platform/storage/spool.js';
import type { QuotasService } from '../quotas.service.js';
import { type KeyPairSource, UploadFields, type UploadFormFields } from './upload-fields.js';
import { minFileBytes } from './upload-form.js';
import { UploadRequestsService } from './upload-requests.service.js';
import type { UploadContext, UploadService } from './upload.service.js';

const OVERHEAD = 65_536;
const BODY = form(filePart('sound'));
const QUOTAS = { concurrentUploads: 2 } as Quotas;
const FULL = new QuotaExceededError('stored_bytes', 1, 1, null);
const KEY = { accountId: 'a', credential: 'api_key', userId: null, keyId: 'k', quotas: QUOTAS } as Principal;
const later = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const RULE = { seconds: 60, sameText: '' };
const RESULT = { recording: {}, replayed: false };

describe('UploadRequestsService', () => {
  /** What was done, in order. */
  let steps: string[];
  /** What was asked: of the quotas, and of the table of keys. */
  let asked: { slot?: unknown[]; quotas?: unknown[]; key?: unknown[] };
  let hasRoom: boolean;
  let refusal: QuotaExceededError | null;
  /** The earlier upload with the key. */
  let earlier: object[];
  let accepted: { form: { originalFilename: string; sha256: string | null }; context: UploadContext };
  let admits: () => Promise<void>;
  let stores: () => Promise<unknown>;
  let service: UploadRequestsService;

  beforeEach(() => {
    [steps, asked, hasRoom, refusal, earlier] = [[], {}, true, null, []];
    admits = async () => undefined;
    stores = async () => RESULT;
    const file = {
      sizeBytes: 0,
      write: async () => void steps.push('written'),
      discard: async () => {
        await later();
        steps.push('discarded');
      },
    };
    const uploads = {
      accept: async (_: string, given: typeof accepted.form, details: unknown, context: UploadContext) => {
        steps.push(`accepted ${JSON.stringify(details)}`);
        accepted = { form: given, context };
        await later();
        steps.push('stored');
        return await stores();
      },
    };
    const quotas = {
      takeUploadSlot: async (...given: unknown[]) => {
        asked.slot = given;
        await admits();
        steps.push('admitted');
        return () => void steps.push('freed');
      },
      findRefusal: async (...given: unknown[]) => {
        asked.quotas = given;
        return refusal;
      },
      refuse: (given: Error) => {
        throw given;
      },
      countRefusal: (quota: string) => void steps.push(`refused ${quota}`),
    };
    const database = {
      query: async (_: string, given: unknown[]) => {
        asked.key = given;
        return earlier;
      },
    };
    service = new UploadRequestsService(
      uploads as unknown as UploadService,
      quotas as unknown as QuotasService,
      database as unknown as DatabaseService,
      { hasRoom: async () => hasRoom } as unknown as DiskSpaceService,
      { create: async () => file } as unknown as Spool,
      { acceptedFormats: ['wav'], webhookAllowedCidrs: [] } as unknown as Env,
    );
  });

  function requestOf(headers: Record<string, string> = {}, ip: string | undefined = '10.0.0.1'): Request {
    const all: Record<string, string> = { 'content-type': FORM_TYPE, ...headers };
    const request = Object.assign(new PassThrough(), {
      headers: all,
      ip,
      complete: true,
      get: (name: string) => all[name],
      is: (type: string) => all['content-type'] === type,
    });
    request.end(BODY);
    return request as unknown as Request;
  }

  const send = (
    request = requestOf(),
    principal = KEY,
    fields: Partial<UploadFormFields> = {},
    source?: KeyPairSource,
  ) => service.accept(request, principal, Object.assign(new UploadFields(), fields), source);

  it('admits the upload, reads it, stores it, discards its file and frees its place', async () => {
    expect(await send()).toBe(RESULT);
    expect(steps).toEqual(['admitted', 'written', 'accepted {}', 'stored', 'discarded', 'freed']);
    expect(accepted.form).toMatchObject({ originalFilename: 'note.wav', sha256: null });
  });

  it('reads nothing of an upload that is not admitted', async () => {
    admits = () => Promise.reject(new Error('full'));
    await expect(send()).rejects.toThrow('full');
    expect(asked).toEqual({ slot: ['a', 2] });
    expect(steps).toEqual([]);
  });

  it('refuses with a full disk, before a slot is taken, to come again in 30 s', async () => {
    hasRoom = false;
    const error: unknown = await send().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnavailableError);
    expect((error as ServiceUnavailableError).retryAfter).toBe(30);
    expect(steps).toEqual(['refused free_disk']);
    expect(asked).toEqual({});
  });

  it('frees the slot of an upload that a quota refuses, and reads nothing of it', async () => {
    refusal = FULL;
    await expect(send()).rejects.toBe(FULL);
    await expect(send(requestOf({ 'idempotency-key': 'unknown' }), KEY, { repeatRule: () => RULE })).rejects.toBe(FULL);
    expect(steps).toEqual(['admitted', 'freed', 'admitted', 'freed']);
  });

  it.each([
    [null, ''],
    ['user', 'user'],
  ])('admits a repeat of %s although a quota is full: its key is known for a day', async (userId, identity) => {
    refusal = FULL;
    earlier = [{ fingerprint: '', recordingId: '' }];
    await send(requestOf({ 'idempotency-key': 'k' }), { ...KEY, userId });
    expect(asked.key).toEqual(['a', identity, 'k', 86_400]);
  });

  it('leaves it to the end where only the body tells whether it is a repeat', async () => {
    refusal = FULL;
    await send(requestOf(), KEY, { repeatRule: () => RULE });
    expect(asked.quotas).toBeUndefined();
  });

  it('asks nothing for an upload whose key is none, and reads nothing of it', async () => {
    await expect(send(requestOf({ 'idempotency-key': 'é' }))).rejects.toThrow('Idempotency-Key');
    expect(steps).toEqual([]);
  });

  it('discards the file and frees the place also when the upload cannot be stored, or its form is wrong', async () => {
    stores = () => Promise.reject(new Error('no disk'));
    await expect(send()).rejects.toThrow('no disk');
    expect(steps.slice(-2)).toEqual(['discarded', 'freed']);
    steps = [];
    await expect(
      send(requestOf(), KEY, {
        details: () => {
          throw new Error('bad details');
        },
      }),
    ).rejects.toThrow('bad details');
    expect(steps).toEqual(['admitted', 'written', 'discarded', 'freed']);
    steps = [];
    await expect(send(requestOf({ 'content-type': 'text/plain' }))).rejects.toThrow('multipart/form-data');
    expect(steps).toEqual(['admitted', 'freed']);
  });

  it('asks whether as many bytes fit as there will be at least, and looks for no key if they do', async () => {
    await send(requestOf({ 'content-length': `${OVERHEAD + 7}`, 'idempotency-key': 'once' }));
    expect(asked).toEqual({ slot: ['a', 2], quotas: ['a', QUOTAS, 7] });
  });

  it.each([
    [{}, 0],
    [{ 'content-length': '0' }, 0],
    [{ 'content-length': `${OVERHEAD}` }, 0],
    [{ 'content-length': `${OVERHEAD + 1}` }, 1],
  ])('knows of a body with %j that its file has at least %d bytes', (headers, bytes) => {
    expect(minFileBytes(requestOf(headers))).toBe(bytes);
  });

  it('says where the upload comes from', async () => {
    await send(requestOf({ 'user-agent': 'phone/1' }));
    expect(accepted.context).toEqual({
      userId: null,
      keyId: 'k',
      quotas: KEY.quotas,
      acceptedFormats: ['wav'],
      clientIp: '10.0.0.1',
      userAgent: 'phone/1',
      source: 'api',
      idempotencyKey: null,
      repeats: null,
    });
    const request = requestOf();
    Object.assign(request, { ip: undefined });
    await send(request);
    expect(accepted.context).toMatchObject({ clientIp: null, userAgent: null });
  });

  it.each<[Principal['credential'], KeyPairSource | undefined, string]>([
    ['api_key', 'console', 'console'],
    ['api_key', undefined, 'api'],
    ['access_token', 'console', 'access_token'],
    ['access_token', undefined, 'access_token'],
  ])('takes an upload with an %s that says %s for one of %s', async (credential, said, source) => {
    await send(requestOf(), { ...KEY, credential }, {}, said);
    expect(accepted.context.source).toBe(source);
  });

  it('cuts a user agent off at 512 characters, and leaves no half of one', async () => {
    await send(requestOf({ 'user-agent': `${'x'.repeat(511)}🎙` }));
    expect(accepted.context.userAgent).toBe(`${'x'.repeat(511)}\ufffd`);
    await send(requestOf({ 'user-agent': 'x'.repeat(512) }));
    expect(accepted.context.userAgent).toBe('x'.repeat(512));
  });

  it('computes the hash of an upload that may be a repeat, and tells how it is known once it was read', async () => {
    await send(requestOf({ 'idempotency-key': 'once' }));
    expect(accepted.form.sha256).toMatch(/^[\da-f]{64}$/);
    let readWhenAsked: string[] = [];
    await send(requestOf(), KEY, {
      repeatRule: () => {
        readWhenAsked = [...steps];
        return RULE;
      },
    });
    expect(accepted.form.sha256).toMatch(/^[\da-f]{64}$/);
    expect(accepted.context.repeats).toBe(RULE);
    expect(readWhenAsked.at(-1)).toBe('written');
  });
});
