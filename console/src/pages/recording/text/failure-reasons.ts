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
      what: 'This file contains no audio that can be read.',
      advice: 'It may be damaged or incomplete. Check that it plays on your device, then upload it again.',
    }),
  ],
  [
    /^Language not supported: (.*)\. Supported: (.*)\.$/,
    ([language = '', supported = '']) => ({
      what: `The engine does not support ${title(language)}.`,
      advice: `Transcribe it again in another language. Supported: ${supported.split(', ').map(title).join(', ')}.`,
    }),
  ],
  [
    /^The recording is longer than the maximum of (\d+) seconds\.$/,
    ([seconds = '']) => ({
      what: `The recording is longer than ${minutes(Number(seconds))}.`,
      advice: 'Split it into parts and upload each of them.',
    }),
  ],
  [
    /^The audio is no longer in storage\.$/,
    () => ({ what: 'The audio is no longer stored.', advice: 'Upload the recording again.' }),
  ],
  [
    /^The engine crashed (\d+) times on this recording\.$/,
    ([times = '']) => ({
      what: `The engine crashed on this recording ${times} times.`,
      advice: 'Try another engine, or convert the file to another format and upload it again.',
    }),
  ],
  [
    /^The transcription was given up after (\d+) attempts\.$/,
    ([times = '']) => ({
      what: `All ${times} attempts to transcribe this recording failed.`,
      advice: 'Try again. If it keeps failing, contact the operator of the service.',
      mayPass: true,
    }),
  ],
  [
    /^The file takes too long to decode\.$/,
    () => ({
      what: 'This file takes too long to read.',
      advice: 'Convert it to MP3 or WAV and upload it again.',
    }),
  ],
  [
    /^The file contains (.+), which is not a codec of (.+) files\.$/,
    ([codec = '', format = '']) => ({
      what: `This ${format.toUpperCase()} file contains ${codec} audio, which is not supported.`,
      advice: 'Convert it to MP3 or WAV and upload it again.',
    }),
  ],
  [
    /^The sample rate of (\d+) Hz is outside 4–192 kHz\.$/,
    ([rate = '']) => ({
      what: `This file has a sample rate of ${rate} Hz, which is not supported.`,
      advice: 'Convert it to 16 or 44.1 kHz and upload it again.',
    }),
  ],
  [
    /^The file has (\d+) channels; 1 to (\d+) can be decoded\.$/,
    ([channels = '', most = '']) => ({
      what: `This file has ${channels} channels. At most ${most} are supported.`,
      advice: 'Mix it to one or two channels and upload it again.',
    }),
  ],
  [
    /^The transcription server refused the audio as too large\.$/,
    () => ({
      what: 'The file is too large for the engine.',
      advice: 'Upload it as MP3 or Opus, which are smaller, or split it into parts.',
    }),
  ],
  [
    /^The transcription server refused the audio(?:: (.*))?$/,
    ([detail]) => ({
      what: `The engine rejected this recording${detail ? `: “${detail.replace(/\.$/, '')}”` : ''}.`,
      advice: 'Try another language or engine, or convert the file and upload it again.',
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
    what: reason === '' ? 'The service gave no reason.' : reason,
    advice: 'Try again, or transcribe it with another language or engine.',
    mayPass: true,
  };
}

function title(language: string): string {
  return language.charAt(0).toUpperCase() + language.slice(1);
}

function minutes(seconds: number): string {
  if (seconds % 3600 === 0) return seconds === 3600 ? 'one hour' : `${seconds / 3600} hours`;
  return seconds % 60 === 0 && seconds > 60 ? `${seconds / 60} minutes` : `${seconds} seconds`;
}
