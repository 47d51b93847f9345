import type { RequestOptions } from '../http/client-options.js';

/** Told while a file is sent. */
export interface UploadProgress {
  /** Bytes of the file sent so far. Grows within an attempt, and begins again at 0 with the next. */
  sent: number;
  /** Bytes of all of it; null for a stream. */
  total: number | null;
  /** 1 for the first. A later one repeats the upload after a fault. */
  attempt: number;
}

/** Audio that the service fetches itself. */
export interface AudioLink {
  /** HTTPS. */
  url: string;
}

/** What belongs to an upload beside its audio. */
export interface UploadOptions extends RequestOptions {
  /** What to call it, at most 200 characters. By default as its file. */
  title?: string | undefined;
  /** Your own tags: at most 10. */
  tags?: Record<string, string> | undefined;
  /** English name of the language spoken. Detected or assumed by the engine when omitted. */
  language?: string | undefined;
  /** English names of the languages spoken, each part of the audio in one of them. In place of `language`. */
  languages?: string[] | undefined;
  /** Names and words to expect, the most important first. */
  vocabulary?: string[] | undefined;
  /** `separate` transcribes each of two channels on its own. */
  channels?: 'mixed' | 'separate' | undefined;
  /** Speakers to tell apart; `auto` is as many as there are. Words then have a `speaker`. By default as the account says. */
  speakers?: 'auto' | number | undefined;
  /** Days after which its audio is deleted, instead of those of the account. */
  retainAudioDays?: number | undefined;
  /** Days after which all of it is deleted, instead of those of the account. */
  retainTextDays?: number | undefined;
  /** `transcribed` deletes its audio once it is transcribed. */
  deleteAudioAfter?: 'transcribed' | undefined;
  /** Receives the events of this recording alone, signed with the secret of at least 16 characters. */
  callback?: { url: string; secret: string } | undefined;
  /** Instead of the name that the source has. A link has the name that its host gives. */
  filename?: string | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** One is made for each upload, so that every retry is safe. Give your own to make two runs of a program one upload. */
  idempotencyKey?: string | undefined;
}

/** The fields of the form beside the file. */
export function fieldsOf(options: UploadOptions): Record<string, string> {
  const { title, tags, language, languages, vocabulary, channels, speakers, callback } = options;
  const { retainAudioDays, retainTextDays, deleteAudioAfter } = options;
  return {
    ...(title !== undefined && { title }),
    ...(tags && { custom_tags: JSON.stringify(tags) }),
    ...(language && { language }),
    ...(languages && { languages: JSON.stringify(languages) }),
    ...(vocabulary && { vocabulary: JSON.stringify(vocabulary) }),
    ...(channels && { channels }),
    ...(speakers !== undefined && { speakers: `${speakers}` }),
    ...(callback && { callback_url: callback.url, callback_secret: callback.secret }),
    ...(retainAudioDays !== undefined && { retain_audio_days: `${retainAudioDays}` }),
    ...(retainTextDays !== undefined && { retain_text_days: `${retainTextDays}` }),
    ...(deleteAudioAfter && { delete_audio_after: deleteAudioAfter }),
  };
}
