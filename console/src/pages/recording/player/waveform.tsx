import { useEffect, useRef } from 'preact/hooks';
import type WaveSurfer from 'wavesurfer.js';

import type { Playback } from './playback';

interface WaveformProps {
  /** The loudness of the recording, 0 to 255, in parts of equal length. */
  peaks: readonly number[];
  playback: Playback;
}

const HEIGHT_PX = 56;

/** Drawn behind the seek bar, which is what people and keyboards use. */
export function Waveform({ peaks, playback }: WaveformProps) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const ended = new AbortController();
    void draw(container.current as HTMLElement, peaks, playback, ended.signal);
    return () => ended.abort();
  }, [peaks, playback]);
  return <div class="waveform" aria-hidden="true" ref={container} />;
}

async function draw(
  container: HTMLElement,
  peaks: readonly number[],
  playback: Playback,
  ended: AbortSignal,
): Promise<void> {
  const { default: WaveSurfer } = await import('wavesurfer.js');
  if (ended.aborted) return;
  const loudest = Math.max(1, ...peaks);
  const surfer = WaveSurfer.create({
    container,
    peaks: [peaks.map((peak) => Math.max(peak / loudest, 0.02))],
    // The bar shows shares of the recording; its length is of no consequence here.
    duration: playback.duration.peek() || 1,
    height: HEIGHT_PX,
    barWidth: 2,
    barGap: 2,
    barRadius: 2,
    cursorWidth: 0,
    interact: false,
    hideScrollbar: true,
    ...coloursOf(container),
    ...nonce(),
  });
  const show = (time = playback.time) => {
    const share = time / (playback.duration.peek() || 1);
    surfer.getRenderer().renderProgress(Math.min(1, share), false);
  };
  surfer.on('redraw', () => show());
  const stop = [playback.onTime(show), onThemeChange(() => recolour(surfer, container))];
  ended.addEventListener('abort', () => {
    for (const end of stop) end();
    surfer.destroy();
  });
}

/** The style of its shadow root needs the nonce of the page. */
function nonce(): { cspNonce?: string } {
  const cspNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  return cspNonce ? { cspNonce } : {};
}

/** A canvas knows no custom properties. */
function coloursOf(container: HTMLElement) {
  const { color, borderTopColor } = getComputedStyle(container);
  return { waveColor: color, progressColor: borderTopColor };
}

function recolour(surfer: WaveSurfer, container: HTMLElement): void {
  surfer.setOptions(coloursOf(container));
}

function onThemeChange(listener: () => void): () => void {
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  scheme.addEventListener('change', listener);
  return () => {
    observer.disconnect();
    scheme.removeEventListener('change', listener);
  };
}
