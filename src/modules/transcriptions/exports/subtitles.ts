import { channelName } from '../channels/token-channels.js';
import { type Cue, cuesOf, type ExportSource } from './cues.js';

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
