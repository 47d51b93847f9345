import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';

/** Browsers take a `__Host-` cookie only with Secure, Path=/ and no Domain: no other host can set it. */
const COOKIE = '__Host-vnotes-session';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';
/** A sign-in at an OpenID provider, from which the browser comes back with Lax cookies only. */
const KEPT_SIGN_IN = '__Host-vnotes-sign-in';
const KEPT_SIGN_IN_ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const KEPT_SIGN_IN_SECONDS = 600;

/** The value of the header `Set-Cookie`. */
export function sessionCookie(token: string, expiresAt: Date): string {
  const seconds = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  return `${COOKIE}=${token}; Max-Age=${seconds}; ${ATTRIBUTES}`;
}

/** Makes the browser forget the session. */
export const NO_SESSION_COOKIE = `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;

export const keptSignInCookie = (value: string): string =>
  `${KEPT_SIGN_IN}=${value}; Max-Age=${KEPT_SIGN_IN_SECONDS}; ${KEPT_SIGN_IN_ATTRIBUTES}`;
export const NO_KEPT_SIGN_IN = `${KEPT_SIGN_IN}=; Max-Age=0; ${KEPT_SIGN_IN_ATTRIBUTES}`;

/** The token of the session, of which nothing is checked; null without one. */
export const sessionTokenOf = (headers: IncomingHttpHeaders): string | null => cookieOf(headers, COOKIE);
/** What the browser has kept while it was at an OpenID provider, of which nothing is checked. */
export const keptSignInOf = (headers: IncomingHttpHeaders): string | null => cookieOf(headers, KEPT_SIGN_IN);

function cookieOf({ cookie = '' }: IncomingHttpHeaders, name: string): string | null {
  const found = cookie
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`));
  return found === undefined ? null : found.slice(name.length + 1);
}

/**
 * Whether a page of this service sends the request: browsers add a cookie to requests that pages of others make, too.
 * Pages cannot set these two headers.
 */
export function isSameOrigin({ headers, host }: Request): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
