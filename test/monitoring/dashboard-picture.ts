import type { Dashboard, Panel } from './dashboards.js';

/** One line of a panel: times in seconds since 1970, and values. */
export interface Line {
  name: string;
  points: [at: number, value: number][];
}

const COLUMN = 62;
const ROW = 34;
const COLOURS = [
  '#5794f2',
  '#73bf69',
  '#ff9830',
  '#f2495c',
  '#b877d9',
  '#37872d',
  '#e0b400',
  '#56a64b',
  '#c4162a',
  '#8ab8ff',
];

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);

/** A page that shows a dashboard as Grafana lays it out, with lines for series. */
export function pageOf(
  { title, panels }: Dashboard,
  linesOf: (panel: Panel) => Line[],
): { html: string; height: number } {
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * ROW + 60;
  const boxes = panels.map((panel) => {
    const { x, y, w, h } = panel.gridPos;
    const style = `left:${x * COLUMN}px;top:${y * ROW + 50}px;width:${w * COLUMN - 8}px;height:${h * ROW - 8}px`;
    const size = { width: w * COLUMN - 24, height: h * ROW - 74 };
    const content = panel.type === 'stat' ? statOf(panel, linesOf(panel)) : chartOf(panel, linesOf(panel), size);
    return `<section style="${style}"><h2>${escaped(panel.title)}</h2>${content}</section>`;
  });
  const style = `body{margin:0;background:#111217;color:#ccccdc;font:12px sans-serif;width:${24 * COLUMN}px}
    h1{font-size:18px;margin:0;padding:12px} section{position:absolute;background:#181b1f;border:1px solid #2c3235;box-sizing:border-box;padding:6px;overflow:hidden}
    h2{font-size:13px;margin:0 0 4px} p{margin:2px 0;line-height:1.3} b{font-size:40px;display:block;text-align:center;margin-top:20px} .none{color:#f2495c}`;
  return {
    height,
    html: `<!doctype html><meta charset=utf-8><style>${style}</style><h1>${escaped(title)}</h1>${boxes.join('')}`,
  };
}

const shown = (value: number, { fieldConfig }: Panel): string => {
  const { unit } = fieldConfig.defaults;
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`;
  if (unit === 'bytes') return `${(value / 2 ** 20).toFixed(0)} MiB`;
  const rounded = Number(value.toPrecision(3));
  return unit === 's' ? `${rounded} s` : `${rounded}`;
};

const NONE = '<p class=none>no data</p>';

function statOf(panel: Panel, lines: Line[]): string {
  const last = lines[0]?.points.at(-1);
  return last ? `<b>${shown(last[1], panel)}</b>` : NONE;
}

function chartOf(panel: Panel, lines: Line[], { width, height }: { width: number; height: number }): string {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) return NONE;
  const [from, to] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
  const most = panel.fieldConfig.defaults.max ?? (Math.max(...points.map(([, value]) => value)) || 1);
  const place = ([at, value]: [number, number]): string =>
    `${(((at - from) / (to - from || 1)) * width).toFixed(1)},${(height - (Math.min(value, most) / most) * (height - 4) - 2).toFixed(1)}`;
  const drawn = lines.map(
    (line, i) =>
      `<polyline fill=none stroke-width=1.5 stroke="${COLOURS[i % COLOURS.length]}" points="${line.points.map(place).join(' ')}"/>`,
  );
  const names = lines.map((line, i) => {
    const last = line.points.at(-1)?.[1] ?? 0;
    return `<span style="color:${COLOURS[i % COLOURS.length]}">▬</span> ${escaped(line.name)} <i>${shown(last, panel)}</i> `;
  });
  return `<svg width=${width} height=${height} style="background:#0f1014">${drawn.join('')}<text x=2 y=11 fill="#888">${shown(most, panel)}</text></svg><p>${names.join('&ensp;')}</p>`;
}
