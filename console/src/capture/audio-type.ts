export interface AudioType {
  /** For `MediaRecorder`. */
  mimeType: string;
  extension: string;
  /** Enough for speech, and two hours stay below the 25 MB that the service takes. */
  bitsPerSecond: number;
}

const TYPES: readonly AudioType[] = [
  { mimeType: 'audio/webm;codecs=opus', extension: 'webm', bitsPerSecond: 24_000 },
  // Safari before 18.4.
  { mimeType: 'audio/mp4', extension: 'm4a', bitsPerSecond: 28_000 },
];

/** What this browser can record, the smallest first; null when it cannot record at all. */
export function audioType(): AudioType | null {
  if (typeof MediaRecorder === 'undefined') return null;
  return TYPES.find(({ mimeType }) => MediaRecorder.isTypeSupported(mimeType)) ?? null;
}
