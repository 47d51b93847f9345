import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { weakEntityTag } from '../platform/http/header-values.js';
import type { FixedContent } from '../platform/http/send-text.js';

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};
const PAGES = { '/': 'index.html', '/shared': 'shared.html' };
/** Path of a page. */
export type PagePath = keyof typeof PAGES;
const COMPRESSED = /\.(br|gz)$/;

/** The built console, read once: requests name entries of a map and never a path of the disk. */
@Injectable()
export class ConsoleFilesService {
  private readonly files: ReadonlyMap<string, FixedContent>;
  /** The pages by their paths, cut where the nonce belongs. None while the console is not built. */
  private readonly pages: ReadonlyMap<string, readonly string[]>;

  constructor(folder: URL) {
    const built = readFolder(fileURLToPath(folder));
    this.pages = new Map(
      Object.entries(PAGES).flatMap(([path, name]) => {
        const page = built.get(name);
        return page ? [[path, page.toString('utf8').split(NONCE_PLACEHOLDER)] as const] : [];
      }),
    );
    if (this.pages.size === 0)
      new Logger(ConsoleFilesService.name).warn('console is not built; `npm run build` builds it');
    const names = [...built.keys()].filter((name) => !name.endsWith('.html') && !COMPRESSED.test(name));
    this.files = new Map(names.map((name) => [`/${name}`, toFile(name, built)]));
  }

  /** @param path as in the request line; names of built files need no percent-encoding. */
  find(path: string): FixedContent | null {
    return this.files.get(path) ?? null;
  }

  /** Null while the console is not built. */
  pageWith(nonce: string, path: PagePath = '/'): string | null {
    return this.pages.get(path)?.join(nonce) ?? null;
  }
}

function readFolder(folder: string): Map<string, Buffer> {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = entries.map(({ parentPath, name }) => `${parentPath.replace(/\/$/, '')}/${name}`);
    return new Map(paths.map((path) => [path.slice(folder.length), readFileSync(path)]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
}

/** With what `console/precompress.ts` made of it. */
function toFile(name: string, built: ReadonlyMap<string, Buffer>): FixedContent {
  const plain = built.get(name) as Buffer;
  const compressed = new Map<string, Buffer>();
  for (const [encoding, suffix] of [
    ['br', '.br'],
    ['gzip', '.gz'],
  ] as const) {
    const bytes = built.get(name + suffix);
    if (bytes) compressed.set(encoding, bytes);
  }
  return {
    contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    etag: weakEntityTag(plain),
    plain,
    compressed,
  };
}

/** In the built page, where each response has its nonce. The same text is in console/vite.config.ts. */
const NONCE_PLACEHOLDER = '{{CSP_NONCE}}';

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
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // console/src/security/restrict-markup.ts is the policy.
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/** For the page; what is the same for every response was set before (app.setup.ts). */
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
  // For an image that is opened by itself, and for a worker, also the service worker. Other scripts have the policy of their page.
  response.setHeader('Content-Security-Policy', FILE_POLICY);
}
