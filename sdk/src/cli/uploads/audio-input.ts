import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CliError, usageError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import { bytes } from '../terminal/format.js';

/** The service takes no more (413). Known here, so that nothing larger is read or sent. */
const MAX_BYTES = 26_214_400;

/** A file, or standard input, that is to be uploaded. */
export interface AudioInput {
  /** As the command line names it. */
  label: string;
  /** Name of the recording. */
  filename: string;
  /** Absolute, without links; `-` for standard input; of a link the URL. */
  path: string;
  /** Whether the service fetches it. */
  isLink?: true;
}

/** The bytes, with what they are recognised by. */
export interface LoadedAudio {
  content: Uint8Array<ArrayBuffer>;
  sha256: string;
}

/** Finds all files before the first is sent. @throws CliError that names the one that is missing */
export async function findInputs(files: readonly string[], filename: string | undefined): Promise<AudioInput[]> {
  if (filename !== undefined && files.length > 1) throw usageError('--filename is for one file.');
  if (files.filter((file) => file === '-').length > 1) throw usageError('Standard input (-) can be read once.');
  const inputs: AudioInput[] = [];
  for (const file of files) {
    const input = await inputOf(file);
    // The same file twice is one upload.
    if (inputs.some(({ path }) => path === input.path)) continue;
    inputs.push({ ...input, filename: filename ?? input.filename });
  }
  return inputs;
}

async function inputOf(file: string): Promise<AudioInput> {
  if (file === '-') return { label: 'standard input', filename: 'stdin', path: '-' };
  return /^https?:\/\//i.test(file) ? linkOf(file) : await find(file);
}

/** Its query may hold a secret, and is not shown. */
function linkOf(url: string): AudioInput {
  if (!URL.canParse(url)) throw usageError(`${url} is no URL. Nothing was uploaded.`);
  const { host, pathname } = new URL(url);
  return { label: host + pathname, filename: basename(pathname), path: url, isLink: true };
}

/** In memory, so that what is sent is what was hashed, also when the file changes meanwhile. */
export async function load(input: AudioInput): Promise<LoadedAudio> {
  const content = input.path === '-' ? await readStdin() : await readWhole(input);
  if (content.length === 0) throw new CliError('it is empty.');
  return { content, sha256: createHash('sha256').update(content).digest('hex') };
}

async function find(file: string): Promise<AudioInput> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw usageError(`There is no file ${file}. Nothing was uploaded.`);
    throw usageError(`${file} cannot be read (${error.code}). Nothing was uploaded.`);
  });
  if (found.isDirectory())
    throw usageError(`${file} is a folder. Name its files: ${file.replace(/(?<!\/)\/+$/, '')}/*`);
  return { label: file, filename: basename(file), path: await realpath(file) };
}

async function readWhole({ path }: AudioInput): Promise<Uint8Array<ArrayBuffer>> {
  const { size } = await stat(path);
  if (size > MAX_BYTES) throw tooLarge(size);
  return await readFile(path);
}

async function readStdin(): Promise<Uint8Array<ArrayBuffer>> {
  if (process.stdin.isTTY) throw usageError('Standard input is the terminal. Pipe audio into it.');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw tooLarge(size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(size: number): CliError {
  const advice = 'Compress it, for example: ffmpeg -i FILE -ac 1 -c:a libopus -b:a 24k short.ogg';
  return new CliError(`it has ${bytes(size)}; the service takes at most 25 MB. ${advice}`, EXIT.limit);
}
