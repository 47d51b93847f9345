import { ApiError } from 'vnotes';

import type { Problem } from '../store/upload-item';

/** The service's limit for one file. */
export const LARGEST_FILE_BYTES = 26_214_400;

export const TOO_LARGE: Problem = {
  code: 'too-large',
  message: 'This file is larger than the limit of 25 MB.',
  hint: 'Shorten it, or convert it to MP3 or Opus.',
};

export const EMPTY: Problem = {
  code: 'unreadable',
  message: 'This file is empty.',
  hint: 'Discard it and choose another file.',
};

export const UNREADABLE: Problem = {
  code: 'unreadable',
  message: 'This file can no longer be read.',
  hint: 'It may have been moved or changed. Discard it and choose the file again.',
};

/** The service forgets an Idempotency-Key after 24 hours, and each API key has its own. */
export const UNSURE: Problem = {
  code: 'unsure',
  message: 'An earlier attempt got no response, so this may have been uploaded already.',
  hint: 'Check the list of recordings. Send it again only if it is missing.',
};

/** What a refusal means for the person. Null for one that may pass with time. */
export function problemOf(error: ApiError): Problem | null {
  switch (error.type) {
    case 'PayloadTooLargeError':
      return TOO_LARGE;
    case 'QuotaExceededError':
      return { code: 'quota', message: error.message, hint: 'It is kept here. Try again when there is space.' };
    case 'PermissionError':
      return permission('This key cannot upload recordings. It needs the scope recordings:write.');
    case 'AccountSuspendedError':
      return permission('The account is suspended.');
    case 'ConflictError':
      return {
        code: 'conflict',
        message: 'This was sent before, and the recording has been deleted.',
        hint: 'Send it as a new recording, or discard it.',
      };
    case 'ValidationError':
      return validationProblem(error);
    default:
      return error.status >= 400 && error.status < 500 && error.status !== 408
        ? { code: 'refused', message: error.message, hint: 'It is kept here: try again, download it or discard it.' }
        : null;
  }
}

function permission(message: string): Problem {
  return { code: 'permission', message, hint: 'It is kept here. Sign in with another key, then try again.' };
}

function validationProblem(error: ApiError): Problem {
  if (error.details.field !== 'file') {
    return { code: 'refused', message: error.message, hint: 'It is kept here: download it or discard it.' };
  }
  return { code: 'format', ...formatWords(error.message) };
}

/** The service says: `file must be audio in webm, mp3 or wav; this looks like text`. */
function formatWords(message: string): Pick<Problem, 'message' | 'hint'> {
  const [, formats, kind] = /^file must be audio in (.+?)(?:; this looks like (.+?))?\.?$/.exec(message) ?? [];
  if (!formats) return { message, hint: 'Choose another file.' };
  return {
    message: kind ? `This looks like ${kind}, which cannot be transcribed.` : 'This is not an audio file.',
    hint: `Choose audio in ${formats}.`,
  };
}
