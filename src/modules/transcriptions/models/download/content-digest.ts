import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { PublishedDigest } from '../model-record.js';

/** The digests of a file's content, while it is received or read. */
export class ContentDigest {
  private readonly sha256 = createHash('sha256');
  private readonly git;

  /** @param bytes size of the whole file, which is part of Git's digest */
  constructor(bytes: number) {
    this.git = createHash('sha1').update(`blob ${bytes}\0`);
  }

  update(chunk: Uint8Array): void {
    this.sha256.update(chunk);
    this.git.update(chunk);
  }

  /** Once, after the last byte. */
  end(): Record<PublishedDigest['algorithm'], string> {
    return { sha256: this.sha256.digest('hex'), 'git-sha1': this.git.digest('hex') };
  }
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
