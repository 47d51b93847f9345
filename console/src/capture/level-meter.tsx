import { useEffect, useRef } from 'preact/hooks';

import { t } from '../language/texts';
import type { LevelMonitor } from './level-monitor';
import './level-meter.css';

const BAR = 3;
const DISTANCE = 6;
const PLAIN_BAR_HEIGHT = 12;
const STILL_INTERVAL_MS = 250;

/** How loud it is and was; a plain bar where the person wants no motion. */
export function LevelMeter({ monitor, paused }: { monitor: LevelMonitor | null; paused: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current ? animate(canvas.current, monitor) : undefined), [monitor, paused]);
  const className = paused ? 'level-meter is-paused' : 'level-meter';
  return <canvas ref={canvas} class={className} role="img" aria-label={t('Microphone level')} />;
}

/** @returns ends it */
function animate(canvas: HTMLCanvasElement, monitor: LevelMonitor | null): () => void {
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  let frame = 0;
  let drawnAt = -Infinity;
  const draw = (time: number) => {
    if (!still.matches || time - drawnAt >= STILL_INTERVAL_MS) {
      drawnAt = time;
      paint(canvas, monitor?.levels ?? [], still.matches);
    }
    frame = requestAnimationFrame(draw);
  };
  frame = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(frame);
}

function paint(canvas: HTMLCanvasElement, levels: readonly number[], plain: boolean): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = devicePixelRatio;
  const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.fillStyle = getComputedStyle(canvas).color;
  if (plain) return paintPlain(context, width, height, levels.at(-1) ?? 0);
  paintBars(context, width, height, levels);
}

function paintPlain(context: CanvasRenderingContext2D, width: number, height: number, level: number): void {
  const top = (height - PLAIN_BAR_HEIGHT) / 2;
  context.globalAlpha = 0.2;
  context.fillRect(0, top, width, PLAIN_BAR_HEIGHT);
  context.globalAlpha = 1;
  context.fillRect(0, top, width * level, PLAIN_BAR_HEIGHT);
}

/** The newest at the right; where nothing was recorded yet there are dots. */
function paintBars(context: CanvasRenderingContext2D, width: number, height: number, levels: readonly number[]): void {
  const count = Math.floor(width / DISTANCE);
  for (let i = 0; i < count; i += 1) {
    const level = levels[levels.length - 1 - i];
    const bar = Math.max(BAR, (level ?? 0) * height);
    context.globalAlpha = level === undefined ? 0.25 : 1;
    context.beginPath();
    context.roundRect(width - (i + 1) * DISTANCE + DISTANCE - BAR, (height - bar) / 2, BAR, bar, BAR / 2);
    context.fill();
  }
  context.globalAlpha = 1;
}
