import type { Response } from 'express';

/** In the built page, where each response has its nonce. The same text is in console/vite.config.ts. */
export const NONCE_PLACEHOLDER = '{{CSP_NONCE}}';

/** What else a page may ask the browser for; the console records voice notes. */
const PERMISSIONS = 'camera=(), display-capture=(), geolocation=(), microphone=(self), payment=(), usb=()';

const FILE_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";

/**
 * Only files of this service, no inline script, and styles only from files or with the nonce: the waveform has one
 * `<style>` in its shadow root. Audio and recordings that wait in the browser have `blob:` URLs.
 */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // console/src/security/restrict-markup.ts is the policy.
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/** For the page; what is the same for every response was set before (platform/http/server/security-headers.ts). */
export function setPageHeaders(response: Response, nonce: string): void {
  response.setHeader('Content-Security-Policy', contentSecurityPolicy(nonce));
  response.setHeader('Permissions-Policy', PERMISSIONS);
  response.setHeader('X-Frame-Options', 'DENY');
  // Without an ETag, because a 304 would give the cached page another nonce.
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
}

/** Names in `assets/` hold the hash of the content, so that such a file never changes. */
export function setFileHeaders(response: Response, path: string): void {
  const isHashed = path.startsWith('/assets/');
  response.setHeader('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
  // For an image that is opened by itself, and for a worker. Other scripts have the policy of their page.
  response.setHeader('Content-Security-Policy', FILE_POLICY);
}
