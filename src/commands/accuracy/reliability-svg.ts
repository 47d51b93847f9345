import { type Reliability, wilsonInterval } from './calibration.js';

const SIZE = 420;
const LEFT = 56;
const TOP = 40;
/** The bars below the curve, which show how many words a bin has. */
const BARS = 70;
const GAP = 26;
const HEIGHT = TOP + SIZE + GAP + BARS + 44;
const WIDTH = LEFT + SIZE + 24;

const x = (confidence: number): string => (LEFT + confidence * SIZE).toFixed(1);
const y = (accuracy: number): string => (TOP + (1 - accuracy) * SIZE).toFixed(1);

/** The reliability curve: the share of correct words for each tenth of confidence, with its 95 % interval, as an SVG. */
export function reliabilitySvg(title: string, reliability: Reliability): string {
  const { bins, words, expectedCalibrationError: error } = reliability;
  const caption = `${title}: ${words} words, expected calibration error ${error.toFixed(3)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(caption)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="13">${escaped(caption)}</text>`,
    ...axes(),
    `<path d="M${x(0)} ${y(0)}L${x(1)} ${y(1)}" stroke="#999" stroke-dasharray="5 4"/>`,
    `<path d="${pathOf(reliability)}" fill="none" stroke="#1f5fa8" stroke-width="2"/>`,
    ...bins.map((bin) => {
      const { low, high } = wilsonInterval(bin.accuracy, bin.count);
      const at = x(bin.confidence);
      return `<path d="M${at} ${y(low)}V${y(high)}" stroke="#1f5fa8"/><circle cx="${at}" cy="${y(bin.accuracy)}" r="4" fill="#1f5fa8"/>`;
    }),
    ...bars(reliability),
    '</svg>',
    '',
  ].join('\n');
}

const pathOf = ({ bins }: Reliability): string =>
  bins.map(({ confidence, accuracy }, index) => `${index === 0 ? 'M' : 'L'}${x(confidence)} ${y(accuracy)}`).join('');

function axes(): string[] {
  const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1];
  return [
    `<rect x="${LEFT}" y="${TOP}" width="${SIZE}" height="${SIZE}" fill="none" stroke="#333"/>`,
    ...ticks.flatMap((tick) => [
      `<path d="M${LEFT} ${y(tick)}H${LEFT + SIZE}M${x(tick)} ${TOP}V${TOP + SIZE}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${Number(y(tick)) + 4}" text-anchor="end">${tick}</text>`,
      `<text x="${x(tick)}" y="${TOP + SIZE + 16}" text-anchor="middle">${tick}</text>`,
    ]),
    `<text x="16" y="${TOP + SIZE / 2}" transform="rotate(-90 16 ${TOP + SIZE / 2})" text-anchor="middle">correct words</text>`,
    `<text x="${LEFT + SIZE / 2}" y="${HEIGHT - 8}" text-anchor="middle">confidence; below, the number of words</text>`,
  ];
}

function bars({ bins }: Reliability): string[] {
  const most = Math.max(...bins.map(({ count }) => count));
  const bottom = TOP + SIZE + GAP + BARS;
  return bins.map(({ from, to, count }) => {
    const height = (count / most) * (BARS - 12);
    const [left, width] = [Number(x(from)) + 2, Number(x(to)) - Number(x(from)) - 4];
    const middle = left + width / 2;
    return (
      `<rect x="${left.toFixed(1)}" y="${(bottom - height).toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="#bcd"/>` +
      `<text x="${middle.toFixed(1)}" y="${bottom + 14}" text-anchor="middle" font-size="10">${count}</text>`
    );
  });
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
