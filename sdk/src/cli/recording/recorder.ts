import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { CliError } from '../cli-error.js';

/** A program that records from the microphone into a file until it is interrupted. */
export interface Recorder {
  name: string;
  extension: string;
  /** Of the format at 25 MB, which is what the service takes. */
  maxSeconds: number;
  command: (file: string) => string[];
}

/** 16-bit mono at 16 kHz: 32,000 bytes a second. */
const WAV_SECONDS = 800;
/** Opus at 24 kbit/s, as long as the service transcribes. */
const OPUS_SECONDS = 7200;
const ERROR_CHARACTERS = 500;

/** @param device null for the default one. @throws CliError where there is none of the programs */
export async function findRecorder(device: string | undefined): Promise<Recorder> {
  for (const recorder of recordersFor(process.platform, device)) {
    if (await isInstalled(recorder.name)) return recorder;
  }
  const advice = {
    darwin: 'Install one of them: brew install sox',
    win32: 'Install ffmpeg and give the microphone: --device "Microphone (…)"',
  }[process.platform as string];
  throw new CliError(
    `No program that records was found: arecord, sox or ffmpeg. ${advice ?? 'Install one of them: sudo apt install alsa-utils'}`,
  );
}

function recordersFor(platform: string, device: string | undefined): Recorder[] {
  const arecord: Recorder = {
    name: 'arecord',
    extension: 'wav',
    maxSeconds: WAV_SECONDS,
    command: (file) => [
      ...(device ? ['-D', device] : []),
      '-q',
      '-f',
      'S16_LE',
      '-r',
      '16000',
      '-c',
      '1',
      '-t',
      'wav',
      file,
    ],
  };
  const sox: Recorder = {
    name: 'rec',
    extension: 'wav',
    maxSeconds: WAV_SECONDS,
    command: (file) => ['-q', '-r', '16000', '-c', '1', '-b', '16', file],
  };
  const ffmpeg: Recorder = {
    name: 'ffmpeg',
    extension: 'ogg',
    maxSeconds: OPUS_SECONDS,
    command: (file) =>
      ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'].concat(ffmpegInput(platform, device), [
        '-ac',
        '1',
        '-c:a',
        'libopus',
        '-b:a',
        '24k',
        file,
      ]),
  };
  if (platform === 'linux') return [arecord, ...(device ? [] : [sox]), ffmpeg];
  // sox takes its device from the environment (AUDIODEV), not from an option.
  return device ? [ffmpeg] : [sox, ffmpeg];
}

function ffmpegInput(platform: string, device: string | undefined): string[] {
  if (platform === 'darwin') return ['-f', 'avfoundation', '-i', `:${device ?? '0'}`];
  if (platform === 'win32') return ['-f', 'dshow', '-i', `audio=${device ?? 'default'}`];
  return ['-f', 'alsa', '-i', device ?? 'default'];
}

export interface RunningRecorder {
  /** The file is complete after `ended`. */
  stop(): void;
  ended: Promise<void>;
  /** What it has written to standard error. */
  complaint(): string;
}

export function startRecorder({ name, command }: Recorder, file: string): RunningRecorder {
  // In a group of its own: a Ctrl-C of the terminal is for this program, which then stops the recorder once.
  const child = spawn(name, command(file), { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = `${complaint}${chunk.toString()}`.slice(-ERROR_CHARACTERS);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new CliError(`${name} cannot be started: ${error.message}.`)));
    child.once('close', () => resolve());
  });
  return { stop: () => void child.kill('SIGINT'), ended, complaint: () => complaint.trim() };
}

async function isInstalled(name: string): Promise<boolean> {
  const names = process.platform === 'win32' ? [`${name}.exe`] : [name];
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const file of folders.flatMap((folder) => names.map((own) => join(folder, own)))) {
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
