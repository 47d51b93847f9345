import { isReadableStream, KeptStream, type ByteStream } from './kept-stream.js';

/**
 * What can be uploaded: a File or Blob, bytes, a stream, or (in Node, Deno and Bun) the path or `file:` URL of a file. The
 * bytes of a stream are kept until the upload has ended, so that it can be repeated.
 */
export type AudioSource = Blob | ArrayBuffer | Uint8Array | ByteStream | string | URL;

/** An audio file to be sent, maybe several times. */
export interface AudioFile {
  name: string;
  /** Bytes; null for a stream. */
  size: number | null;
  chunks: () => AsyncIterable<Uint8Array>;
  blob: () => Promise<Blob>;
  close: () => void;
}

const DEFAULT_NAME = 'voice-note';

/** @param filename instead of the source's own */
export async function audioFileOf(source: AudioSource, filename: string | undefined): Promise<AudioFile> {
  if (typeof source === 'string' || source instanceof URL) {
    return fileOfBlob(await blobOfPath(source), filename ?? lastPartOf(source));
  }
  if (source instanceof Blob) {
    return fileOfBlob(source, filename ?? (nameOf(source) || DEFAULT_NAME));
  }
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return fileOfBlob(new Blob([source as BlobPart]), filename ?? DEFAULT_NAME);
  }
  if (!isReadableStream(source) && !(source && Symbol.asyncIterator in Object(source))) {
    throw new TypeError('The audio must be a Blob, bytes, a stream, or a path.');
  }
  const kept = new KeptStream(source);
  return {
    name: filename ?? DEFAULT_NAME,
    size: null,
    chunks: () => kept.chunks(),
    blob: () => kept.blob(),
    close: () => kept.close(),
  };
}

/** Empty for a Blob that is no File. */
const nameOf = (blob: Blob | File): string => ('name' in blob ? blob.name : '');

function fileOfBlob(blob: Blob, name: string): AudioFile {
  return {
    name,
    size: blob.size,
    chunks: () => new KeptStream(blob.stream()).chunks(),
    blob: () => Promise.resolve(blob),
    close: () => {},
  };
}

/** The little of Node's file system that is needed. */
interface FileSystem {
  openAsBlob?: (path: string | URL) => Promise<Blob>;
  promises: {
    stat: (path: string | URL) => Promise<{ isDirectory: () => boolean }>;
    readFile: (path: string | URL) => Promise<Uint8Array>;
  };
}

/** `getBuiltinModule` is no import, so that bundles for browsers hold nothing of Node. */
async function blobOfPath(path: string | URL): Promise<Blob> {
  if (/^(https?|blob|data):/i.test(String(path))) {
    throw new TypeError('The audio is a URL. Fetch it first.');
  }
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const fs = process?.getBuiltinModule?.('node:fs') as FileSystem | undefined;
  if (!fs) throw new TypeError('Only Node, Deno and Bun read paths. Give the File.');
  // Says which file is missing; openAsBlob does not.
  if ((await fs.promises.stat(path)).isDirectory()) throw new TypeError(`${String(path)} is a folder.`);
  return fs.openAsBlob ? await fs.openAsBlob(path) : new Blob([(await fs.promises.readFile(path)) as BlobPart]);
}

function lastPartOf(path: string | URL): string {
  const text = path instanceof URL ? decodeURIComponent(path.pathname) : path;
  return text.split(/[/\\]/).at(-1) ?? DEFAULT_NAME;
}
