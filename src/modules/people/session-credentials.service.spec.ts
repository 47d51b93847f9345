import type { DatabaseService } from '../../platform/database/database.service.js';
import type { SessionConfirmationsService } from './oidc/session-confirmations.service.js';
import { type SessionCredential, SessionCredentialsService } from './session-credentials.service.js';

const TOKEN = `vnss_${'a'.repeat(43)}`;
const NOW = new Date('2026-11-28T12:00:00Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);
const SESSION = { id: 's', personId: 'p', accountId: 'a', version: 7, isDue: false };
const DAY_MS = 86_400_000;

describe('SessionCredentialsService', () => {
  let rows: object[];
  let written: unknown[];
  let error: Error | null;
  let isConfirmed: boolean;
  let sessions: SessionCredentialsService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    [rows, written, error, isConfirmed] = [[], [], null, true];
    const database = {
      prepared: async () => rows,
      query: async (_: string, parameters: unknown[]) => {
        if (error) throw error;
        written.push(...parameters);
      },
    };
    sessions = new SessionCredentialsService(
      database as unknown as DatabaseService,
      { confirm: async () => isConfirmed } as unknown as SessionConfirmationsService,
    );
  });
  afterEach(() => jest.useRealTimers());

  const seen = (lastSeenAt: Date): SessionCredential => ({ ...SESSION, scopes: [], lastSeenAt, expiresAt: NOW });

  it('looks for nothing that cannot be a token', () => {
    expect(sessions.hashOf(TOKEN)).toMatch(/^[0-9a-f]{64}$/);
    for (const text of ['', 'vnss_', `${TOKEN}a`, TOKEN.replace('vnss', 'vnl')])
      expect(sessions.hashOf(text)).toBeNull();
  });

  it.each([
    ['its time, if that comes first', ago(0), new Date(NOW.getTime() + DAY_MS), NOW.getTime() + DAY_MS],
    ['a week after it was last seen', ago(DAY_MS), new Date(NOW.getTime() + 30 * DAY_MS), NOW.getTime() + 6 * DAY_MS],
  ])('is to be read again at %s', async (_, lastSeenAt, expiresAt, end) => {
    rows = [{ tokenHash: 'hash', ...SESSION, role: 'viewer', lastSeenAt, expiresAt, confirmedFor: null }];
    const found = await sessions.find('hash', { isKnown: true });
    expect(found).toEqual({ ...SESSION, scopes: ['recordings:read'], lastSeenAt, expiresAt: new Date(end) });
    expect(await sessions.find('other', { isKnown: true })).toBeNull();
  });

  it('is to be read again when its OpenID provider has to be asked, and is not valid if that says no', async () => {
    const row = { tokenHash: 'hash', ...SESSION, role: 'viewer', lastSeenAt: NOW, expiresAt: ago(-DAY_MS) };
    rows = [{ ...row, confirmedFor: 7 }];
    isConfirmed = false;
    const found = await sessions.find('hash', { isKnown: true });
    expect(found).toMatchObject({ isDue: false, expiresAt: ago(-7000) });
    rows = [{ ...row, confirmedFor: 0 }];
    expect(await sessions.find('hash', { isKnown: true })).toBeNull();
    isConfirmed = true;
    expect(await sessions.find('hash', { isKnown: false })).toMatchObject({ isDue: true, expiresAt: ago(-20_000) });
  });

  it('writes once a minute that a session was seen', async () => {
    const session = seen(ago(60_000));
    sessions.countUse(session);
    sessions.countUse(session);
    sessions.countUse({ ...seen(ago(59_999)), id: 'fresh' });
    await jest.advanceTimersByTimeAsync(2000);
    expect(written).toEqual([['s']]);
    await jest.advanceTimersByTimeAsync(57_999);
    sessions.countUse(session);
    await sessions.onApplicationShutdown();
    expect(written).toEqual([['s']]);
    await jest.advanceTimersByTimeAsync(1);
    sessions.countUse(session);
    await sessions.onApplicationShutdown();
    expect(written).toEqual([['s'], ['s']]);
  });

  it('tries again what it could not write', async () => {
    jest.spyOn((sessions as unknown as { logger: { warn(): void } }).logger, 'warn').mockReturnValue(undefined);
    error = new Error('connection lost');
    sessions.countUse(seen(ago(DAY_MS)));
    await jest.advanceTimersByTimeAsync(2000);
    error = null;
    await jest.advanceTimersByTimeAsync(2000);
    expect(written).toEqual([['s']]);
  });
});
