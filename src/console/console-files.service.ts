import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable, Logger } from '@nestjs/common';
import { weakEntityTag } from '../platform/http/input/entity-tags.js';
import { NONCE_PLACEHOLDER } from './console-headers.js';

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const PAGE = 'index.html';
const COMPRESSED = /\.(br|gz)$/;

/** A file of the built console, with what `console/precompress.ts` made of it. */
export interface ConsoleFile {
  contentType: string;
  etag: string;
  plain: Buffer;
  /** By the name of the encoding in HTTP. */
  compressed: ReadonlyMap<string, Buffer>;
}

/** The built console, read once: requests name entries of a map and never a path of the disk. */
@Injectable()
export class ConsoleFilesService {
  private readonly files: ReadonlyMap<string, ConsoleFile>;
  /** The page, cut where the nonce belongs. Null while the console is not built. */
  private readonly page: readonly string[] | null;

  constructor(folder: URL) {
    const built = readFolder(fileURLToPath(folder));
    this.page = built.get(PAGE)?.toString('utf8').split(NONCE_PLACEHOLDER) ?? null;
    if (!this.page) new Logger(ConsoleFilesService.name).warn('console is not built; `npm run build` builds it');
    const names = [...built.keys()].filter((name) => name !== PAGE && !COMPRESSED.test(name));
    this.files = new Map(names.map((name) => [`/${name}`, toFile(name, built)]));
  }

  /** @param path as in the request line; names of built files need no percent-encoding. */
  find(path: string): ConsoleFile | null {
    return this.files.get(path) ?? null;
  }

  /** Null while the console is not built. */
  pageWith(nonce: string): string | null {
    return this.page?.join(nonce) ?? null;
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

function toFile(name: string, built: ReadonlyMap<string, Buffer>): ConsoleFile {
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
