import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { locale } from '../../language/language';
import { t } from '../../language/texts';
import { type ChartColours, coloursOf, watchColours } from './chart-colours';
import { formatHours } from './format-hours';
import { sumInWords, type UsageItem } from './usage-in-words';

export type Metric = 'audio' | 'recordings';

const HEIGHT_PX = 220;
const DAY_SECONDS = 86_400;

interface Props {
  days: readonly UsageItem[];
  metric: Metric;
  /** The day below the pointer; null without one. */
  onPoint: (day: UsageItem | null) => void;
}

/** Bars on a canvas. What it shows is in the table below it as well. */
export default function UsageChart({ days, metric, onPoint }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const end = holder.current ? drawInto(holder.current, { days, metric, onPoint }) : undefined;
    return () => {
      end?.();
      onPoint(null);
    };
  }, [days, metric, locale.value]);
  return (
    <div
      ref={holder}
      class="usage-chart"
      role="img"
      aria-label={t('Chart by day. Total: {figures}.', { figures: sumInWords(days) })}
    />
  );
}

/** Follows the size of the element and the colours of the page. @returns a function that ends it */
function drawInto(element: HTMLElement, { days, metric, onPoint }: Props): () => void {
  const point = ({ cursor }: uPlot) => {
    onPoint(typeof cursor.idx === 'number' ? (days[cursor.idx] ?? null) : null);
  };
  const draw = () =>
    new uPlot(optionsOf(element.clientWidth, metric, coloursOf(element), point), dataOf(days, metric), element);
  let plot = draw();
  const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
  resized.observe(element);
  const unwatch = watchColours(() => {
    plot.destroy();
    plot = draw();
  });
  return () => {
    resized.disconnect();
    unwatch();
    plot.destroy();
  };
}

/** Seconds of the days, then a value for each series. */
function dataOf(days: readonly UsageItem[], metric: Metric): uPlot.AlignedData {
  const times = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000);
  if (metric === 'audio') return [times, days.map((item) => item.total_duration_seconds)];
  return [times, days.map((item) => item.recordings_count), days.map((item) => item.failed_count)];
}

function optionsOf(
  width: number,
  metric: Metric,
  colours: ChartColours,
  onCursor: (plot: uPlot) => void,
): uPlot.Options {
  const bars = uPlot.paths.bars?.({ size: [0.66, 32], radius: 0.2 });
  const series = (fill: string): uPlot.Series => ({
    fill,
    width: 0,
    ...(bars && { paths: bars }),
    points: { show: false },
  });
  const axis = { stroke: colours.text, font: colours.font, ticks: { show: false } };
  return {
    width,
    height: HEIGHT_PX,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (_plot, min, max) => [min - DAY_SECONDS / 2, max + DAY_SECONDS / 2] },
      // An empty chart has a scale all the same, and few recordings no halves.
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.08, metric === 'audio' ? 60 : 4)] },
    },
    series: [{}, series(colours.bar), ...(metric === 'audio' ? [] : [series(colours.bad)])],
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_plot, times) => times.map(dayLabels()),
        size: 32,
        space: 64,
        incrs: daySteps(),
      },
      {
        ...axis,
        grid: { stroke: colours.grid, width: 1 },
        size: 56,
        values: (_plot, values) => values.map((value) => (metric === 'audio' ? formatHours(value) : String(value))),
        incrs: metric === 'audio' ? [15, 60, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 180_000] : wholeSteps(),
      },
    ],
    hooks: { setCursor: [onCursor] },
  };
}

function dayLabels(): (seconds: number) => string {
  const format = new Intl.DateTimeFormat(locale.value, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return (seconds) => format.format(new Date(seconds * 1000));
}

function daySteps(): number[] {
  return [1, 2, 5, 7, 10, 15].map((days) => days * DAY_SECONDS);
}

function wholeSteps(): number[] {
  return Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
}
