/** A transcription with the length of the recording. */
export interface StoredTranscript {
  text: string;
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
  confidence: number;
  /** JSON text of the list. */
  words: string;
}

/** How OpenAI bills audio, which some clients read. */
export const usageOf = ({ durationSeconds }: Pick<StoredTranscript, 'durationSeconds'>): object => ({
  type: 'duration',
  seconds: Math.ceil(durationSeconds),
});

export const jsonOf = (transcript: StoredTranscript): object => ({ text: transcript.text, usage: usageOf(transcript) });
