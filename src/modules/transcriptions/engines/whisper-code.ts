/** Whisper's language codes that differ from ISO 639-1. */
const WHISPER_CODES: Readonly<Record<string, string>> = { jv: 'jw' };

/** @param code of ISO 639-1. */
export const whisperCode = (code: string): string => WHISPER_CODES[code] ?? code;
