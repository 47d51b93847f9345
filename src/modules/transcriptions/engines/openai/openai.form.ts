import { randomUUID } from 'node:crypto';
import { wavHeader } from '../wav.js';

/** Text fields of the form; a name may occur twice. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** A multipart body in parts, which can be sent more than once. The audio is one part, so that it is never copied. */
export interface TranscriptionForm {
  headers: { 'content-type': string; 'content-length': string };
  parts: readonly Buffer[];
}

/** The terms as the text that Whisper takes for what was said before, so that it spells them alike. */
export const promptOf = (vocabulary: readonly string[]): FormFields =>
  vocabulary.length === 0 ? [] : [['prompt', `${vocabulary.map(oneLine).join(', ')}.`]];

const oneLine = (term: string): string => term.replace(/\s+/gu, ' ');

/** The body of `POST /audio/transcriptions`: the fields, then the audio as a WAV file. */
export function transcriptionForm(fields: FormFields, pcm: Buffer): TranscriptionForm {
  const boundary = `voice-note-${randomUUID()}`;
  const head = fields.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="audio.wav"\r\n` +
    'Content-Type: audio/wav\r\n\r\n';
  const parts = [Buffer.from(head.join('') + file), wavHeader(pcm.length), pcm, Buffer.from(`\r\n--${boundary}--\r\n`)];
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(parts.reduce((sum, part) => sum + part.length, 0)),
    },
    parts,
  };
}
