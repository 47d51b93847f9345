/** Forms in which a transcription is sent (D42). */
export const TRANSCRIPTION_FORMATS = ['json', 'text', 'srt', 'vtt', 'paragraphs', 'rttm'] as const;
export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];

export const CONTENT_TYPES: Record<TranscriptionFormat, string> = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  paragraphs: 'text/plain; charset=utf-8',
  rttm: 'text/plain; charset=utf-8',
};

/** Media types that `Accept` can ask for. SubRip has no registered one, so its usual names are taken. */
const ACCEPTED: [type: string, format: TranscriptionFormat][] = [
  ['application/json', 'json'],
  ['text/plain', 'text'],
  ['application/x-subrip', 'srt'],
  ['application/srt', 'srt'],
  ['text/vtt', 'vtt'],
  ['text/srt', 'srt'],
];

interface MediaRange {
  type: string;
  /** 0 to 1; 0 refuses. */
  quality: number;
}

/** Parts between commas that do not stand in quotation marks. */
const LIST_ITEM = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const QUALITY = /;[ \t]*q=([01](?:\.\d{0,3})?)[ \t]*(?:;|$)/i;

/**
 * The form with the highest quality in an `Accept` header. JSON in a tie, as with a browser's header, and when no form
 * is accepted: clients that send another `Accept` were always answered with JSON.
 */
export function acceptedFormat(header: string | undefined): TranscriptionFormat {
  if (header === undefined) return 'json';
  const ranges = (header.match(LIST_ITEM) ?? []).map(readRange);
  let best: { format: TranscriptionFormat; quality: number } = { format: 'json', quality: 0 };
  for (const [type, format] of ACCEPTED) {
    const quality = qualityOf(type, ranges);
    if (quality > best.quality) best = { format, quality };
  }
  return best.format;
}

function readRange(item: string): MediaRange {
  const [type = ''] = item.split(';', 1);
  const quality = QUALITY.exec(item)?.[1];
  return { type: type.trim().toLowerCase(), quality: quality === undefined ? 1 : Math.min(1, Number(quality)) };
}

/** That of the most specific range that includes the type. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const [main] = type.split('/', 1);
  for (const name of [type, `${main}/*`, '*/*']) {
    const matching = ranges.filter((range) => range.type === name);
    if (matching.length > 0) return Math.max(...matching.map(({ quality }) => quality));
  }
  return 0;
}
