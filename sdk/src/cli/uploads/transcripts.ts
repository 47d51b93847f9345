import { mkdir, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { ApiError, type Recording, type VoiceNotes } from '../../index.js';
import { CliError } from '../cli-error.js';
import type { AudioInput } from './audio-input.js';

export type Format = 'text' | 'srt' | 'vtt' | 'rttm' | 'json';

const EXTENSIONS: Record<Format, string> = { text: 'txt', srt: 'srt', vtt: 'vtt', rttm: 'rttm', json: 'json' };

/** The transcription as the text of a file. @throws CliError when there is none, with the reason */
export async function transcriptOf(
  client: VoiceNotes,
  id: string,
  format: Format,
  version?: 'original',
): Promise<string> {
  try {
    if (format !== 'json') return await client.recordings.export(id, format, { version });
    return `${JSON.stringify(await client.recordings.transcription(id, { version }), null, 2)}\n`;
  } catch (error) {
    throw explained(error, id);
  }
}

/** @throws CliError when the transcription failed, with the reason */
export async function waitUntilTranscribed(client: VoiceNotes, id: string): Promise<Recording> {
  const recording = await client.recordings.wait(id);
  if (recording.status === 'transcribed') return recording;
  // The request for the text gives the reason.
  await transcriptOf(client, id, 'text');
  return recording;
}

/** A folder with a file for each transcription: `a.srt`, or `a.ogg.srt` and `a.mp3.srt` where only that tells them apart. */
export class TranscriptFolder {
  private readonly names = new Map<AudioInput, string>();

  constructor(
    private readonly folder: string,
    inputs: readonly AudioInput[],
  ) {
    const stems = inputs.map(({ filename }) => parse(filename).name);
    for (const [index, input] of inputs.entries()) {
      const stem = stems[index] ?? '';
      const wanted = stems.indexOf(stem) === stems.lastIndexOf(stem) ? stem : input.filename;
      this.names.set(input, unlike([...this.names.values()], wanted));
    }
  }

  async prepare(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
  }

  /** @returns the path of the file */
  async write(input: AudioInput, format: Format, text: string): Promise<string> {
    const file = join(this.folder, `${this.names.get(input) ?? input.filename}.${EXTENSIONS[format]}`);
    await writeFile(file, text);
    return file;
  }
}

/** Files of two folders may have the same name. */
function unlike(taken: readonly string[], wanted: string): string {
  let name = wanted;
  for (let n = 2; taken.includes(name); n += 1) name = `${wanted}-${n}`;
  return name;
}

function explained(error: unknown, id: string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.code === 'TRANSCRIPTION_NOT_READY') {
    return new CliError(`${id} is not transcribed yet. Add --wait.`, undefined, { cause: error });
  }
  if (error.code !== 'TRANSCRIPTION_FAILED') return error;
  const reason = typeof error.details.reason === 'string' ? error.details.reason : error.message;
  return new CliError(`${id} could not be transcribed: ${reason}`, undefined, { cause: error });
}
