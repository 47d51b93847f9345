import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { SecretsService } from '../../../platform/secrets.service.js';
import { AudioUrlsService } from './audio-urls.service.js';

const NOW = new Date('2026-11-22T10:00:00.700Z');
const NOW_SECONDS = Math.floor(NOW.getTime() / 1000);
const GRANT = { accountId: 'account', recordingId: 'recording', signer: { keyId: 'key' } };

describe('AudioUrlsService (D41)', () => {
  const secrets = new SecretsService({ secretKey: 'k'.repeat(32), secretKeyPrevious: null });
  const urls = new AudioUrlsService(secrets);

  beforeEach(() => jest.useFakeTimers({ now: NOW, doNotFake: ['nextTick', 'setImmediate', 'setTimeout'] }));
  afterEach(() => jest.useRealTimers());

  it('signs for 5 minutes, and not for longer', async () => {
    const { token, expiresAt } = await urls.sign(GRANT, null);
    expect(expiresAt.getTime()).toBe((NOW_SECONDS + 300) * 1000);
    jest.setSystemTime(expiresAt.getTime() - 1);
    expect(await urls.verify(token)).toEqual(GRANT);
    jest.setSystemTime(expiresAt);
    expect(await urls.verify(token)).toBeNull();
  });

  it.each([
    ['later than that', 301_000, 300],
    ['earlier', 60_000, 60],
    ['within a second', 60_299, 60],
  ])('ends a URL with a key that expires %s', async (_, keyMs, seconds) => {
    const { token, expiresAt } = await urls.sign(GRANT, new Date(NOW.getTime() + keyMs));
    expect(expiresAt.getTime() / 1000 - NOW_SECONDS).toBe(seconds);
    expect(decodeJwt(token).exp).toBe(NOW_SECONDS + seconds);
  });

  it('writes a JWT for this purpose alone, which names its key', async () => {
    const { token } = await urls.sign(GRANT, null);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS256', typ: 'JWT', kid: secrets.keyId });
    expect(decodeJwt(token)).toEqual({
      iss: 'voice-note-transcription',
      aud: 'audio',
      sub: 'account',
      recording: 'recording',
      key: 'key',
      exp: NOW_SECONDS + 300,
    });
  });

  it('names the session of a person in its place', async () => {
    const grant = { accountId: 'account', recordingId: 'recording', signer: { sessionId: 'session' } };
    const { token } = await urls.sign(grant, null);
    expect(decodeJwt(token)).toMatchObject({ session: 'session' });
    expect(decodeJwt(token)).not.toHaveProperty('key');
    expect(await urls.verify(token)).toEqual(grant);
  });

  it('signs for a share until that ends, 12 hours at most, and neither kind is the other', async () => {
    const { token, expiresAt } = await urls.signShare('share', null);
    expect(expiresAt.getTime()).toBe((NOW_SECONDS + 12 * 3600) * 1000);
    expect((await urls.signShare('share', new Date(NOW.getTime() + 60_000))).expiresAt.getTime()).toBe(
      (NOW_SECONDS + 60) * 1000,
    );
    expect([await urls.verifyShare(token), await urls.verify(token)]).toEqual(['share', null]);
    expect(await urls.verifyShare((await urls.sign(GRANT, null)).token)).toBeNull();
    jest.setSystemTime(expiresAt);
    expect(await urls.verifyShare(token)).toBeNull();
  });

  describe('verify', () => {
    const CLAIMS = {
      iss: 'voice-note-transcription',
      aud: 'audio',
      sub: 'account',
      recording: 'recording',
      key: 'key',
      exp: NOW_SECONDS + 10,
    };
    const tokenOf = (changes: Record<string, unknown>, alg = 'HS256', key = secrets.audioUrlKey): Promise<string> =>
      new SignJWT({ ...CLAIMS, ...changes }).setProtectedHeader({ alg, kid: secrets.keyId }).sign(key);

    it('takes a token as it is signed here', async () => {
      expect(await urls.verify(await tokenOf({}))).toEqual(GRANT);
    });

    it.each<[Record<string, unknown>]>([
      [{ iss: 'somebody' }],
      [{ iss: undefined }],
      [{ aud: 'access' }],
      [{ aud: undefined }],
      [{ sub: undefined }],
      [{ exp: undefined }],
      [{ recording: undefined }],
      [{ recording: 1 }],
      [{ key: undefined }],
      [{ key: ['key'] }],
    ])('refuses a token with %j', async (changes) => {
      expect(await urls.verify(await tokenOf(changes))).toBeNull();
    });

    it('refuses another algorithm, another key, and what is no token', async () => {
      expect(await urls.verify(await tokenOf({}, 'HS512'))).toBeNull();
      expect(await urls.verify(await tokenOf({}, 'HS256', secrets.tokenKeyOf(undefined) as never))).toBeNull();
      for (const text of ['', 'x', 'a.b.c']) expect(await urls.verify(text)).toBeNull();
    });
  });
});
