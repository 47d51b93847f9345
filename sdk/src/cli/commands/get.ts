import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { RecordingDetails, VoiceNotes } from '../../index.js';
import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import type { Output } from '../terminal/output.js';
import { bytes, duration, tagsOf, time } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { statusColour } from '../terminal/status-colour.js';
import { type Format, transcriptOf, waitUntilTranscribed } from '../uploads/transcripts.js';

interface GetOptions {
  format?: Format;
  audio?: string;
  out?: string;
  original?: boolean;
  wait?: boolean;
}

export async function getRecording(context: Context, options: GetOptions, id: string): Promise<void> {
  const { output } = context;
  const client = await context.client();
  if (options.audio === '-' && output.json) throw usageError('--audio - and --json both want standard output.');
  if (options.wait) await waitUntilTranscribed(client, id);
  if (options.audio !== undefined) await fetchAudio(client, id, options.audio, output);
  const version = options.original ? 'original' : undefined;

  if (options.format || options.out !== undefined) {
    const text = await transcriptOf(client, id, options.format ?? 'text', version);
    if (options.out !== undefined) await writeFile(options.out, text);
    else if (output.json && options.format !== 'json') output.document({ id, text });
    else output.raw(text);
    if (options.out !== undefined) output.document({ id, output: options.out });
    return;
  }
  if (options.audio === undefined) await show(client, id, version, output);
  else if (options.audio !== '-') output.document({ id, audio: options.audio });
}

async function show(client: VoiceNotes, id: string, version: 'original' | undefined, output: Output): Promise<void> {
  const recording = await client.recordings.get(id, { include: ['title'] });
  const done = recording.status === 'transcribed';
  const text = done ? await client.recordings.transcription(id, { version }) : null;
  output.document({ ...recording, transcription: text });
  if (output.json) return;
  for (const [name, value] of linesOf(recording, output)) {
    output.print(`${output.paint('dim', name.padEnd(9))} ${value}`);
  }
  if (text) {
    const about = `${text.language}, ${Math.round(text.confidence * 100)} % confident, ${text.provider} ${text.model}`;
    output.print(`${output.paint('dim', 'Text'.padEnd(9))} ${output.paint('dim', oneLine(about))}\n`);
    output.raw(text.text === '' ? '(Nobody speaks.)' : text.text);
    return;
  }
  const next =
    recording.status === 'failed' ? `Why: vnotes get ${id} --format text` : 'To wait for the text add --wait.';
  output.note(next);
}

function linesOf(recording: RecordingDetails, output: Output): [string, string][] {
  const { audio_format: format, audio_codec: codec, sample_rate: rate, file_size_bytes: size } = recording;
  const audio = [format, codec, rate === null ? null : `${rate / 1000} kHz`, bytes(size)].filter(Boolean).join(', ');
  const colour = statusColour(recording.status);
  const lines: [string, string | null][] = [
    ['ID', recording.id],
    ['Name', oneLine(recording.title ?? recording.original_filename)],
    ['Status', colour ? output.paint(colour, recording.status) : recording.status],
    ['Length', duration(recording.duration_seconds)],
    ['Audio', oneLine(audio)],
    ['Uploaded', time(recording.created_at, output.forPeople)],
    ['Tags', oneLine(tagsOf(recording.custom_tags)) || null],
    ['End user', recording.user_id === null ? null : oneLine(recording.user_id)],
  ];
  return lines.filter((line): line is [string, string] => line[1] !== null);
}

async function fetchAudio(client: VoiceNotes, id: string, target: string, output: Output): Promise<void> {
  if (target === '-' && process.stdout.isTTY)
    throw usageError('Audio is not for the terminal. Name a file: --audio FILE');
  const { body } = await client.recordings.audio(id);
  if (!body) return;
  const stream = Readable.fromWeb(body as NodeReadableStream);
  if (target === '-') {
    for await (const chunk of stream) if (!process.stdout.write(chunk as Buffer)) await once(process.stdout, 'drain');
    return;
  }
  // A download that breaks off leaves no half file under the name.
  const draft = `${target}.${process.pid}.part`;
  try {
    await pipeline(stream, createWriteStream(draft));
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  output.note(`The audio is in ${target}.`);
}
