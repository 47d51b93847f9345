import { timeTokens } from '../text/time-tokens.js';
import { joinTokens, tokensOf } from '../text/tokens.js';
import { channelName, turnsOf } from '../text/turns.js';
import { markSentenceEnds, type SentenceToken } from '../text/sentences.js';
import { type Cue, cuesOf, type ExportSource } from './cues.js';
import type { TranscriptionFormat } from './transcription-format.js';

/** A transcript as it is stored, and the form that is wanted. */
export interface ExportInput extends Omit<ExportSource, 'words'> {
  format: Exclude<TranscriptionFormat, 'json'>;
  /** JSON text of the list. */
  words: string;
}

/** A function for threads: of a long recording it takes a second. */
export function renderExport({ format, words, ...rest }: ExportInput): string {
  if (format === 'text') return rest.text;
  const source: ExportSource = { ...rest, words: JSON.parse(words) as ExportSource['words'] };
  if (format === 'paragraphs') return paragraphsOf(source);
  return format === 'srt' ? subRipOf(source) : webVttOf(source);
}

/** SubRip. It has no escapes: an arrow in the text is shortened, because players take a second one for a time line. */
export function subRipOf(source: ExportSource): string {
  return cuesOf(source, { namesChannels: true })
    .map((cue, index) => `${index + 1}\n${timesOf(cue, ',')}\n${linesOf(cue, subRipText)}\n`)
    .join('\n');
}

/** WebVTT, in the form of a file. */
export function webVttOf(source: ExportSource): string {
  return [
    'WEBVTT\n',
    ...cuesOf(source).map((cue) => `${timesOf(cue, '.')}\n${voiceOf(cue)}${linesOf(cue, webVttText)}\n`),
  ].join('\n');
}

const linesOf = ({ lines }: Cue, escape: (line: string) => string): string => lines.map(escape).join('\n');

/** Who speaks, in a form that players know. */
const voiceOf = ({ channel }: Cue): string => (channel === undefined ? '' : `<v ${channelName(channel)}>`);

/** The look-behind lets a search begin only at the first dash of a run, so that long runs take linear time. */
const subRipText = (line: string): string => line.replaceAll(/(?<!-)--+>/g, '->');

const webVttText = (line: string): string =>
  line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const timesOf = ({ startMs, endMs }: Cue, point: string): string =>
  `${timeOf(startMs, point)} --> ${timeOf(endMs, point)}`;

/** `00:01:02.345` */
function timeOf(ms: number, point: string): string {
  const [hours, minutes, seconds] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map((value) =>
    String(Math.floor(value)).padStart(2, '0'),
  );
  return `${hours}:${minutes}:${seconds}${point}${String(ms % 1000).padStart(3, '0')}`;
}

/** The text in paragraphs, with an empty line between them. Each turn of a channel begins one with its name. */
export function paragraphsOf({ text, words, durationSeconds }: ExportSource): string {
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  const paragraphs = turnsOf(tokens, words).flatMap((turn) => {
    const [first = '', ...others] = groupParagraphs(turn.tokens).map(joinTokens);
    return [turn.channel === undefined ? first : `${channelName(turn.channel)}: ${first}`, ...others];
  });
  return paragraphs.join('\n\n');
}

/** A pause after which a new paragraph begins, wherever it stands. */
const LONG_PAUSE_SECONDS = 2;
/** A pause after which a new paragraph begins if a sentence has ended. */
const PAUSE_SECONDS = 1;
/** A paragraph of this many characters ends with its sentence: people who hardly pause are to be read as well. */
const LONG_PARAGRAPH = 800;

/** Groups sentences into paragraphs: at line feeds, at long pauses, and after much text. */
export function groupParagraphs(tokens: readonly SentenceToken[]): SentenceToken[][] {
  const paragraphs: SentenceToken[][] = [];
  let length = 0;
  for (const token of tokens) {
    const paragraph = paragraphs.at(-1);
    if (paragraph && !isBreak(paragraph.at(-1) as SentenceToken, token, length)) {
      paragraph.push(token);
      length += token.text.length + 1;
    } else {
      paragraphs.push([token]);
      length = token.text.length;
    }
  }
  return paragraphs;
}

function isBreak(last: SentenceToken, next: SentenceToken, length: number): boolean {
  const pause = next.start - last.end;
  if (next.newLine || pause >= LONG_PAUSE_SECONDS) return true;
  return last.endsSentence && (pause >= PAUSE_SECONDS || length >= LONG_PARAGRAPH);
}
