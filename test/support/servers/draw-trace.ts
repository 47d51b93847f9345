import type { ReceivedSpan } from './otlp-receiver.js';

const ROW = 17;
const WIDTH = 960;
const NAMES = 320;
const BARS = WIDTH - NAMES - 90;
const COLOURS: Record<string, string> = { api: '#3b6fb6', transcriber: '#2f8f5b', deliverer: '#b5622b' };
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

interface Row {
  span: ReceivedSpan;
  depth: number;
}

/** A trace as an SVG: a row for each span, below its parent, with its time as a bar in the colour of its process. */
export function drawTrace(spans: readonly ReceivedSpan[]): string {
  const rows = rowsOf(spans, '', 0);
  const start = Math.min(...spans.map((span) => span.start));
  const whole = Math.max(...spans.map((span) => span.end)) - start;
  const x = (time: number): number => NAMES + ((time - start) / whole) * BARS;
  const height = (rows.length + 2) * ROW + 8;
  const lines = rows.map(({ span, depth }, i) => {
    const y = (i + 2) * ROW;
    const [left, width] = [x(span.start), Math.max(1, x(span.end) - x(span.start))];
    const ms = `${(span.end - span.start).toFixed(1)} ms`;
    const weight = span.kind === 'client' ? '' : ' font-weight="600"';
    return [
      `<text x="${8 + depth * 12}" y="${y}"${weight}>${escaped(shortened(span.name, 46 - 2 * depth))}</text>`,
      `<rect x="${left.toFixed(1)}" y="${y - 10}" width="${width.toFixed(1)}" height="11" rx="2" fill="${colourOf(span)}"/>`,
      `<text x="${(left + width + 4).toFixed(1)}" y="${y}" fill="#666">${ms}</text>`,
    ].join('');
  });
  const legend = Object.entries(COLOURS).map(
    ([role, colour], i) =>
      `<rect x="${NAMES + i * 120}" y="6" width="11" height="11" rx="2" fill="${colour}"/>` +
      `<text x="${NAMES + 16 + i * 120}" y="16">${role}</text>`,
  );
  const head =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">` +
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`;
  const total = `<text x="8" y="16">${rows.length} spans, ${whole.toFixed(0)} ms</text>`;
  return `${[head, total, ...legend, ...lines, '</svg>'].join('\n')}\n`;
}

function rowsOf(spans: readonly ReceivedSpan[], parentId: string, depth: number): Row[] {
  return spans
    .filter((span) => span.parentId === parentId)
    .toSorted((a, b) => a.start - b.start)
    .flatMap((span) => [{ span, depth }, ...rowsOf(spans, span.spanId, depth + 1)]);
}

const colourOf = ({ resource }: ReceivedSpan): string => COLOURS[String(resource['voice_notes.roles'])] ?? '#888';
const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
