import { AsyncLocalStorage } from 'node:async_hooks';
import type { NextFunction, Request, Response } from 'express';
import { upgradeOf } from '../platform/http/server/upgrade.js';
import { requestIdOf } from '../platform/observability/request-log.middleware.js';
import type { Principal } from './principal.js';

/** `end_user`: the bearer of a token that an account's own issuer has signed. `system`: nobody asked for it. */
export const ACTOR_KINDS = ['api_key', 'person', 'access_token', 'end_user', 'operator', 'system'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** Who makes a change, and from where. */
export interface Acting {
  kind: ActorKind;
  /** The API key, or the one that issued the access token. */
  keyId: string | null;
  /** Who has signed in. */
  personId: string | null;
  tokenId: string | null;
  userId: string | null;
  address: string | null;
  userAgent: string | null;
  requestId: string | null;
}

const NOBODY: Acting = {
  kind: 'system',
  keyId: null,
  personId: null,
  tokenId: null,
  userId: null,
  address: null,
  userAgent: null,
  requestId: null,
};
const MAX_USER_AGENT = 500;

/** Not the request itself, which timers and connections that are made meanwhile would keep alive. */
const storage = new AsyncLocalStorage<{ acting: Acting }>();

/** Who makes the change that is under way. */
export const acting = (): Acting => storage.getStore()?.acting ?? NOBODY;

/** Everything that `work` changes is a change by the operator. */
export const actAsOperator = <T>(work: () => Promise<T>): Promise<T> =>
  storage.run({ acting: { ...NOBODY, kind: 'operator' } }, work);

/**
 * Gives requests that may change something a context, which costs each promise of theirs a little in Node 20. Those that
 * only read get none.
 */
export function provideActing(request: Request, _response: Response, next: NextFunction): void {
  const reads = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) && upgradeOf(request) === undefined;
  if (reads) return next();
  storage.run({ acting: { ...NOBODY, ...clientOf(request) } }, next);
}

/** Who makes a request without a context. */
export const actingOf = (request: Request, principal: Principal): Acting => ({
  ...NOBODY,
  ...clientOf(request),
  ...callerOf(principal),
});

const clientOf = (request: Request) => ({
  address: request.ip ?? null,
  userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT).toWellFormed() ?? null,
  requestId: requestIdOf(request),
});

/** Tells the context of the request whose credentials these are. */
export const setActing = (principal: Principal): void => change(callerOf(principal));

function callerOf({ credential, keyId, personId, tokenId, userId }: Principal): Partial<Acting> {
  const isIssued = credential === 'access_token' && keyId === null && tokenId === null;
  return {
    kind: isIssued ? 'end_user' : credential === 'session' ? 'person' : credential,
    keyId,
    personId,
    tokenId,
    userId: credential === 'access_token' ? userId : null,
  };
}

/** Tells the context of the request who is signing in with it. */
export const setSigningIn = (personId: string): void => change({ kind: 'person', personId });

function change(fields: Partial<Acting>): void {
  const store = storage.getStore();
  if (store) store.acting = { ...store.acting, ...fields };
}
