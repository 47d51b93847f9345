import { languageTitle } from '../../../format/languages';
import { t } from '../../../language/texts';

/** Why a recording has no text, for a person. */
export interface FailureReason {
  /** One sentence without jargon. */
  what: string;
  /** What to do about it. */
  advice: string;
  /** Whether the same request may succeed later. */
  mayPass: boolean;
}

type Describe = (parts: string[]) => Omit<FailureReason, 'mayPass'> & { mayPass?: boolean };

const RETRANSCRIPTION = /^Transcribing again failed, and the present text stays: /;

/** What the service says. Extensions, and engines of a team's own, may say other things. */
const REASONS: [says: RegExp, describe: Describe][] = [
  [
    /^The file contains no audio that can be decoded\.$/,
    () => ({
      what: t('This file contains no audio that can be read.'),
      advice: t('It may be damaged or incomplete. Check that it plays on your device, then upload it again.'),
    }),
  ],
  [
    /^Language not supported: (.*)\. Supported: (.*)\.$/,
    ([language = '', supported = '']) => ({
      what: t('The engine does not support {language}.', { language: languageTitle(language) }),
      advice: t('Transcribe it again in another language. Supported: {languages}.', {
        languages: supported.split(', ').map(languageTitle).join(', '),
      }),
    }),
  ],
  [
    /^The recording is longer than the maximum of (\d+) seconds\.$/,
    ([seconds = '']) => ({
      what: longerThan(Number(seconds)),
      advice: t('Split it into parts and upload each of them.'),
    }),
  ],
  [
    /^The audio is no longer in storage\.$/,
    () => ({ what: t('The audio is no longer stored.'), advice: t('Upload the recording again.') }),
  ],
  [
    /^The engine crashed (\d+) times on this recording\.$/,
    ([times = '']) => ({
      what: t('The engine crashed on this recording {times} times.', { times }),
      advice: t('Try another engine, or convert the file to another format and upload it again.'),
    }),
  ],
  [
    /^The transcription was given up after (\d+) attempts\.$/,
    ([times = '']) => ({
      what: t('All {times} attempts to transcribe this recording failed.', { times }),
      advice: t('Try again. If it keeps failing, contact the operator of the service.'),
      mayPass: true,
    }),
  ],
  [
    /^The file takes too long to decode\.$/,
    () => ({
      what: t('This file takes too long to read.'),
      advice: t('Convert it to MP3 or WAV and upload it again.'),
    }),
  ],
  [
    /^The file contains (.+), which is not a codec of (.+) files\.$/,
    ([codec = '', format = '']) => ({
      what: t('This {format} file contains {codec} audio, which is not supported.', {
        format: format.toUpperCase(),
        codec,
      }),
      advice: t('Convert it to MP3 or WAV and upload it again.'),
    }),
  ],
  [
    /^The sample rate of (\d+) Hz is outside 4–192 kHz\.$/,
    ([rate = '']) => ({
      what: t('This file has a sample rate of {rate} Hz, which is not supported.', { rate }),
      advice: t('Convert it to 16 or 44.1 kHz and upload it again.'),
    }),
  ],
  [
    /^The file has (\d+) channels; 1 to (\d+) can be decoded\.$/,
    ([channels = '', most = '']) => ({
      what: t('This file has {channels} channels. At most {most} are supported.', { channels, most }),
      advice: t('Mix it to one or two channels and upload it again.'),
    }),
  ],
  [
    /^The transcription server refused the audio as too large\.$/,
    () => ({
      what: t('The file is too large for the engine.'),
      advice: t('Upload it as MP3 or Opus, which are smaller, or split it into parts.'),
    }),
  ],
  [
    /^The transcription server refused the audio(?:: (.*))?$/,
    ([detail]) => ({
      what: detail
        ? t('The engine rejected this recording: “{detail}”.', { detail: detail.replace(/\.$/, '') })
        : t('The engine rejected this recording.'),
      advice: t('Try another language or engine, or convert the file and upload it again.'),
    }),
  ],
];

/** @param message of the service; one that is not known here is shown as it is */
export function describeFailure(message: string): FailureReason {
  const reason = message.replace(RETRANSCRIPTION, '').trim();
  for (const [says, describe] of REASONS) {
    const match = says.exec(reason);
    if (match) return { mayPass: false, ...describe(match.slice(1)) };
  }
  return {
    what: reason === '' ? t('The service gave no reason.') : reason,
    advice: t('Try again, or transcribe it with another language or engine.'),
    mayPass: true,
  };
}

/** In hours or minutes where it is a whole number of them. */
function longerThan(seconds: number): string {
  if (seconds % 3600 === 0)
    return t('The recording is longer than {count, plural, one {one hour} other {# hours}}.', {
      count: seconds / 3600,
    });
  return seconds % 60 === 0 && seconds > 60
    ? t('The recording is longer than {count, plural, one {# minute} other {# minutes}}.', { count: seconds / 60 })
    : t('The recording is longer than {count} seconds.', { count: String(seconds) });
}
