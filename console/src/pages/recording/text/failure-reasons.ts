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
      what: 'There is no sound in this file that can be read.',
      advice: 'It may be damaged, or cut off at its beginning. Play it here or on your device, and upload it again.',
    }),
  ],
  [
    /^Language not supported: (.*)\. Supported: (.*)\.$/,
    ([language = '', supported = '']) => ({
      what: `The engine does not understand ${title(language)}.`,
      advice: `Transcribe it again in another language. It understands ${supported.split(', ').map(title).join(', ')}.`,
    }),
  ],
  [
    /^The recording is longer than the maximum of (\d+) seconds\.$/,
    ([seconds = '']) => ({
      what: `The recording is longer than ${minutes(Number(seconds))}.`,
      advice: 'Cut it into parts, and upload each of them.',
    }),
  ],
  [
    /^The audio is no longer in storage\.$/,
    () => ({ what: 'The audio is no longer in the storage.', advice: 'Upload the recording again.' }),
  ],
  [
    /^The engine crashed (\d+) times on this recording\.$/,
    ([times = '']) => ({
      what: `The engine broke down on this recording ${times} times.`,
      advice: 'Try another engine, or convert the file to another format and upload it again.',
    }),
  ],
  [
    /^The transcription was given up after (\d+) attempts\.$/,
    ([times = '']) => ({
      what: `The engine could not be reached, ${times} times.`,
      advice: 'Try again. If it fails once more, tell the operator of the service.',
      mayPass: true,
    }),
  ],
  [
    /^The file takes too long to decode\.$/,
    () => ({
      what: 'The file is so unusual that reading it takes too long.',
      advice: 'Convert it to MP3 or WAV and upload it again.',
    }),
  ],
  [
    /^The file contains (.+), which is not a codec of (.+) files\.$/,
    ([codec = '', format = '']) => ({
      what: `The file looks like ${format.toUpperCase()}, but its sound is stored as ${codec}.`,
      advice: 'Convert it to MP3 or WAV and upload it again.',
    }),
  ],
  [
    /^The sample rate of (\d+) Hz is outside 4–192 kHz\.$/,
    ([rate = '']) => ({
      what: `The file says that it has ${rate} samples a second, which is no usual number.`,
      advice: 'Convert it to 16 kHz or 44.1 kHz and upload it again.',
    }),
  ],
  [
    /^The file has (\d+) channels; 1 to (\d+) can be decoded\.$/,
    ([channels = '', most = '']) => ({
      what: `The file has ${channels} channels, and at most ${most} can be read.`,
      advice: 'Mix it to one or two channels and upload it again.',
    }),
  ],
  [
    /^The transcription server refused the audio as too large\.$/,
    () => ({
      what: 'The file is larger than the engine accepts.',
      advice: 'Upload it as MP3 or Opus, which are smaller, or in parts.',
    }),
  ],
  [
    /^The transcription server refused the audio(?:: (.*))?$/,
    ([detail]) => ({
      what: `The engine refused this recording${detail ? `: “${detail.replace(/\.$/, '')}”` : ''}.`,
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
