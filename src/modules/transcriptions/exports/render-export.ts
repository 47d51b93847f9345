import { timeTokens } from '../text/time-tokens.js';
import { joinTokens, tokensOf } from '../text/tokens.js';
import { isConversation, type Turn, turnsOf } from '../text/turns.js';
import { markSentenceEnds, type SentenceToken } from '../text/sentences.js';
import { type Cue, cuesOf, type ExportSource } from './cues.js';
import { rttmOf } from './rttm.js';
import type { TranscriptionFormat } from './transcription-format.js';

/** A transcript as it is stored, and the form that is wanted. */
export interface ExportInput extends Omit<ExportSource, 'words'> {
  format: Exclude<TranscriptionFormat, 'json'>;
  recordingId: string;
  /** JSON text of the list. */
  words: string;
}

/** Whether any word has a speaker. In the JSON text of a word a quotation mark would be escaped. */
export const hasSpeakers = (words: string): boolean => words.includes('"speaker":');

const RENDERERS: Record<ExportInput['format'], (source: ExportSource, recordingId: string) => string> = {
  text: linesOfTurns,
  paragraphs: paragraphsOf,
  srt: subRipOf,
  vtt: webVttOf,
  rttm: ({ words, names }, recordingId) => rttmOf(recordingId, words, names),
};

/** A function for threads: of a long recording it takes a second. */
export function renderExport({ format, recordingId, words, ...rest }: ExportInput): string {
  if (format === 'text' && !hasSpeakers(words)) return rest.text;
  const source: ExportSource = { ...rest, words: JSON.parse(words) as ExportSource['words'] };
  return RENDERERS[format](source, recordingId);
}

/** SubRip. It has no escapes: an arrow in the text is shortened, because players take a second one for a time line. */
export function subRipOf(source: ExportSource): string {
  return cuesOf(source, { namesVoices: true })
    .map((cue, index) => `${index + 1}\n${timesOf(cue, ',')}\n${linesOf(cue, subRipText)}\n`)
    .join('\n');
}

/** WebVTT, in the form of a file. */
export function webVttOf(source: ExportSource): string {
  return [
    'WEBVTT\n',
    ...cuesOf(source).map((cue) => `${timesOf(cue, '.')}\n${voiceTag(cue)}${linesOf(cue, webVttText)}\n`),
  ].join('\n');
}

const linesOf = ({ lines }: Cue, escape: (line: string) => string): string => lines.map(escape).join('\n');

/** Who speaks, in a form that players know. */
const voiceTag = ({ voice }: Cue): string => (voice === undefined ? '' : `<v ${webVttText(voice)}>`);

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

/** The text in paragraphs, with an empty line between them. Each turn begins one with who speaks. */
export function paragraphsOf(source: ExportSource): string {
  const paragraphs = namedTurnsOf(source).flatMap(({ voice, tokens }) => {
    const [first = '', ...others] = groupParagraphs(tokens, hasEmptyLine(source.text)).map(joinTokens);
    return [voice === undefined ? first : `${voice}: ${first}`, ...others];
  });
  return paragraphs.join('\n\n');
}

/** A line for each turn, or the text as it is where only one speaker is heard. */
function linesOfTurns(source: ExportSource): string {
  const turns = namedTurnsOf(source);
  if (turns.every(({ voice }) => voice === undefined)) return source.text;
  return turns.map(({ voice, tokens }) => `${voice}: ${joinTokens(tokens)}`).join('\n');
}

/** The turns of a text; without their voice where nobody needs to be told. */
function namedTurnsOf({ text, words, durationSeconds, names }: ExportSource): Turn<SentenceToken>[] {
  const tokens = markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds));
  const turns = turnsOf(tokens, words, names);
  return isConversation(turns, words) ? turns : turns.map((turn) => ({ ...turn, voice: undefined }));
}

/** A pause after which a new paragraph begins, wherever it stands. */
const LONG_PAUSE_SECONDS = 2;
/** A pause after which a new paragraph begins if a sentence has ended. */
const PAUSE_SECONDS = 1;
/** A paragraph of this many characters ends with its sentence: people who hardly pause are to be read as well. */
const LONG_PARAGRAPH = 800;

/** Such a text is divided by a person: no engine writes empty lines. */
export const hasEmptyLine = (text: string): boolean => /\n[^\S\n]*\n/.test(text);

/**
 * Groups sentences into paragraphs: at line feeds, at long pauses, and after much text.
 * @param isDivided whether a person divided the text: then only at line feeds
 */
export function groupParagraphs(tokens: readonly SentenceToken[], isDivided = false): SentenceToken[][] {
  const paragraphs: SentenceToken[][] = [];
  let length = 0;
  for (const token of tokens) {
    const paragraph = paragraphs.at(-1);
    if (paragraph && !(isDivided ? token.newLine : isBreak(paragraph.at(-1) as SentenceToken, token, length))) {
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
