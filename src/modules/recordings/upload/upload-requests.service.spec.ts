import { PassThrough } from 'node:stream';
import type { Request } from 'express';
import { FORM_TYPE, filePart, form } from '../../../../test/support/http/multipart.js';
import type { Principal } from '../../../access/principal.js';
import type { Env } from '../../../platform/config/env.js';
import type { Spool } from '../../../platform/storage/spool.js';
import type { AnnouncedUpload, UploadAdmissionService } from './upload-admission.service.js';
import { type KeyPairSource, UploadFields, type UploadFormFields } from './upload-fields.js';
import { minFileBytes } from './upload-form.js';
import { UploadRequestsService } from './upload-requests.service.js';
import type { UploadContext, UploadService } from './upload.service.js';

const OVERHEAD = 65_536;
const BODY = form(filePart('sound'));
const KEY = { accountId: 'a', credential: 'api_key', userId: null, keyId: 'k', quotas: {} } as Principal;
const later = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const RESULT = { recording: {}, replayed: false };

describe('UploadRequestsService', () => {
  /** What was done, in order. */
  let steps: string[];
  let announced: AnnouncedUpload;
  let accepted: { form: { originalFilename: string; sha256: string | null }; context: UploadContext };
  let admits: () => Promise<void>;
  let stores: () => Promise<unknown>;
  let service: UploadRequestsService;

  beforeEach(() => {
    steps = [];
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
    const admission = {
      admit: async (upload: AnnouncedUpload) => {
        steps.push('admitted');
        announced = upload;
        await admits();
        return () => void steps.push('freed');
      },
    };
    service = new UploadRequestsService(
      uploads as unknown as UploadService,
      admission as unknown as UploadAdmissionService,
      { create: async () => file } as unknown as Spool,
      { acceptedFormats: ['wav'] } as unknown as Env,
    );
  });

  function requestOf(headers: Record<string, string> = {}, ip: string | undefined = '10.0.0.1'): Request {
    const all: Record<string, string> = { 'content-type': FORM_TYPE, ...headers };
    const request = Object.assign(new PassThrough(), {
      headers: all,
      ip,
      complete: true,
      get: (name: string) => all[name],
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
    expect(steps).toEqual(['admitted']);
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

  it('announces who uploads, under which quotas and key, and how many bytes there will be at least', async () => {
    const headers = { 'content-length': `${OVERHEAD + 7}`, 'idempotency-key': 'once' };
    await send(requestOf(headers), { ...KEY, userId: 'user' });
    const quotas = KEY.quotas;
    const upload = { accountId: 'a', quotas, userId: 'user', idempotencyKey: 'once', mayRepeat: false, minBytes: 7 };
    expect(announced).toMatchObject(upload);
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
    const rule = { seconds: 60, sameText: '' };
    let readWhenAsked: string[] = [];
    await send(requestOf(), KEY, {
      repeatRule: () => {
        readWhenAsked = [...steps];
        return rule;
      },
    });
    expect(accepted.form.sha256).toMatch(/^[\da-f]{64}$/);
    expect(accepted.context.repeats).toBe(rule);
    expect(readWhenAsked.at(-1)).toBe('written');
    expect(announced.mayRepeat).toBe(true);
  });
});
