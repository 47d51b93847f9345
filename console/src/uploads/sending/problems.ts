import { ApiError } from 'vnotes';

import { t } from '../../language/texts';
import { reasonFor } from '../../session/permissions';
import type { Problem } from '../store/upload-item';

/** The service's limit for one file. */
export const LARGEST_FILE_BYTES = 26_214_400;

export const tooLarge = (): Problem => ({
  code: 'too-large',
  message: t('This file is larger than the limit of 25 MB.'),
  hint: t('Shorten it, or convert it to MP3 or Opus.'),
});

export const empty = (): Problem => ({
  code: 'unreadable',
  message: t('This file is empty.'),
  hint: t('Discard it and choose another file.'),
});

export const unreadable = (): Problem => ({
  code: 'unreadable',
  message: t('This file can no longer be read.'),
  hint: t('It may have been moved or changed. Discard it and choose the file again.'),
});

/** The service forgets an Idempotency-Key after 24 hours, and each API key has its own. */
export const unsure = (): Problem => ({
  code: 'unsure',
  message: t('An earlier attempt got no response, so this may have been uploaded already.'),
  hint: t('Check the list of recordings. Send it again only if it is missing.'),
});

/** What a refusal means for the person. Null for one that may pass with time. */
export function problemOf(error: ApiError): Problem | null {
  switch (error.type) {
    case 'PayloadTooLargeError':
      return tooLarge();
    case 'QuotaExceededError':
      return { code: 'quota', message: error.message, hint: t('It is kept here. Try again when there is space.') };
    case 'PermissionError':
      return permission(reasonFor('recordings:write', 'upload recordings'));
    case 'AccountSuspendedError':
      return permission(t('The account is suspended.'));
    case 'ConflictError':
      return {
        code: 'conflict',
        message: t('This was sent before, and the recording has been deleted.'),
        hint: t('Send it as a new recording, or discard it.'),
      };
    case 'ValidationError':
      return validationProblem(error);
    default:
      return error.status >= 400 && error.status < 500 && error.status !== 408
        ? { code: 'refused', message: error.message, hint: t('It is kept here: try again, download it or discard it.') }
        : null;
  }
}

function permission(message: string): Problem {
  return { code: 'permission', message, hint: t('It is kept here. Sign in with another key, then try again.') };
}

function validationProblem(error: ApiError): Problem {
  if (error.details.field !== 'file') {
    return { code: 'refused', message: error.message, hint: t('It is kept here: download it or discard it.') };
  }
  return { code: 'format', ...formatWords(error.message) };
}

/** The service says: `file must be audio in webm, mp3 or wav; this looks like text`. */
function formatWords(message: string): Pick<Problem, 'message' | 'hint'> {
  const [, formats, kind] = /^file must be audio in (.+?)(?:; this looks like (.+?))?\.?$/.exec(message) ?? [];
  if (!formats) return { message, hint: t('Choose another file.') };
  return {
    message: kind
      ? t('This looks like {kind}, which cannot be transcribed.', { kind })
      : t('This is not an audio file.'),
    hint: t('Choose audio in {formats}.', { formats }),
  };
}
