export const TRANSCRIPTION_QUEUE = 'transcriptions';

/** Names the recording to look at; its row says what is to be done. */
export type TranscriptionJob = { recordingId: string };
