import type { ExecutionContext } from '@nestjs/common';
import { limitToEndUser } from '../access/check-access.js';
import type { Principal } from '../access/principal.js';
import type { DatabaseService } from '../platform/database/database.service.js';
import { NotFoundError, PermissionError } from '../platform/errors/errors.js';
import { OwnRecordingGuard } from './own-recording.guard.js';
import type { AccessRulesService } from './scope.guard.js';

const ID = '01900000-0000-7000-8000-000000000001';
const KEY = { accountId: 'a', credential: 'api_key', userId: null } as Principal;
const TOKEN = { accountId: 'a', credential: 'access_token', userId: 'user-1' } as Principal;

describe('OwnRecordingGuard (D94)', () => {
  let asked: unknown[][];
  let isOwn: boolean;

  beforeEach(() => {
    [asked, isOwn] = [[], true];
  });

  async function ask(principal: Principal | undefined, id?: string, endUserRight: string | undefined = 'read') {
    const database = {
      prepared: async (_: string, values: unknown[]) => {
        asked.push(values);
        return isOwn ? [{}] : [];
      },
    };
    const request = { principal, params: id === undefined ? {} : { recording_id: id } };
    const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
    const rules = { of: () => ({ endUserRight }) } as unknown as AccessRulesService;
    return await new OwnRecordingGuard(rules, database as unknown as DatabaseService).canActivate(context);
  }

  it('asks nothing for keys, lists and the public', async () => {
    expect([await ask(KEY, ID), await ask(TOKEN), await ask(undefined, ID)]).toEqual([true, true, true]);
    expect(asked).toEqual([]);
  });

  it('finds the recording of the end user, and no other', async () => {
    expect(await ask(TOKEN, ID)).toBe(true);
    isOwn = false;
    await expect(ask(TOKEN, ID)).rejects.toThrow(NotFoundError);
    expect(asked).toEqual([
      [ID, 'a', 'user-1'],
      [ID, 'a', 'user-1'],
    ]);
  });

  it('finds nothing without an end user, or for what is no id', async () => {
    await expect(ask({ ...TOKEN, userId: null }, ID)).rejects.toThrow(NotFoundError);
    await expect(ask(TOKEN, 'x')).rejects.toThrow(NotFoundError);
    expect(asked).toEqual([]);
  });
});

describe('the query of a list (D94)', () => {
  it('is that of a key as it is, and that of a token limited to its end user', () => {
    const query = { user_id: 'user-2', status: 'failed' };
    expect(limitToEndUser(KEY, query)).toBe(query);
    expect(limitToEndUser<{ user_id?: string; status: string }>(TOKEN, { status: 'failed' })).toEqual({
      status: 'failed',
      user_id: 'user-1',
    });
    expect(limitToEndUser(TOKEN, { user_id: 'user-1' })).toEqual({ user_id: 'user-1' });
  });

  it('is refused for another end user, and without one', () => {
    expect(() => limitToEndUser(TOKEN, { user_id: 'user-2' })).toThrow(PermissionError);
    expect(() => limitToEndUser({ ...TOKEN, userId: null }, {})).toThrow(PermissionError);
  });
});
