/** Lines in a square of 24. */
const PATHS = {
  alert: 'M12 4 2.8 19.5h18.4L12 4Zm0 6v4.5m0 2.7v.1',
  back: 'M19 12H5m6-6-6 6 6 6',
  chart: 'M4 20h16M7 16v-5m5 5V5m5 11V9',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  'chevron-down': 'm6 9.5 6 6 6-6',
  'chevron-left': 'm14.5 6-6 6 6 6',
  'chevron-right': 'm9.5 6 6 6-6 6',
  'chevron-up': 'm6 14.5 6-6 6 6',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Zm0 4V12l3 2',
  close: 'm6 6 12 12M18 6 6 18',
  copy: 'M9 9h10.5v10.5H9V9Zm-3.5 6h-1V4.5H15v1',
  download: 'M12 4v11m-5-4.5 5 5 5-5M5 20h14',
  edit: 'm4.5 19.5 1-4.5L16 4.5l3.5 3.5L9 18.5l-4.5 1ZM13.5 7l3.5 3.5',
  external: 'M10 5H5v14h14v-5M13.5 4.5h6v6m0-6-9 9',
  file: 'M6 3.5h8l4.5 4.5v12.5H6v-17Zm8 0V8h4.5',
  filter: 'M4 6h16M7 12h10m-7 6h4',
  help: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM9.7 9.4a2.4 2.4 0 1 1 3.3 2.4c-.7.3-1 .8-1 1.7m0 2.6v.1',
  info: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 11v5m0-8.2v.1',
  key: 'M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm3-0L20 4m-3.5 3 2.5 2.5M13.5 9.7l2 2',
  keyboard: 'M3.5 6.5h17v11h-17v-11ZM7 10h.1m3.2 0h.1m3.2 0h.1m3.2 0h.1M8 14h8',
  locate: 'M12 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Zm0-5v5m0 9v5m9.5-9.5h-5m-9 0h-5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  mic: 'M12 3.5a3 3 0 0 0-3 3V12a3 3 0 0 0 6 0V6.5a3 3 0 0 0-3-3ZM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
  monitor: 'M3.5 5h17v11h-17V5ZM9 20h6m-3-4v4',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z',
  more: 'M5.5 11.4v1.2m6.5-1.2v1.2m6.5-1.2v1.2',
  pause: 'M8.5 5v14m7-14v14',
  people:
    'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM2.5 19.5a6.5 6.5 0 0 1 13 0M16 5.2a3.4 3.4 0 0 1 0 6.6m2 2.6a6.5 6.5 0 0 1 3.5 5.1',
  play: 'M7.5 4.5v15L19.5 12l-12-7.5Z',
  plus: 'M12 5v14M5 12h14',
  redo: 'm15.5 5 4.5 4.5-4.5 4.5M19.5 9.5h-10a5 5 0 0 0 0 10H15',
  retry: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9m0-5v5h-5',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm4.7 11.2L20 20',
  'sign-out': 'M14 4.5H5v15h9M10 12h10.5m-4-4 4 4-4 4',
  'skip-back': 'M5 12a7.5 7.5 0 1 0 2.4-5.5L5 8.8m0-4.8v4.8h4.8',
  'skip-forward': 'M19 12a7.5 7.5 0 1 1-2.4-5.5L19 8.8m0-4.8v4.8h-4.8',
  sliders: 'M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4',
  stop: 'M6.5 6.5h11v11h-11z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2m9-9h-2M5 12H3m15.4-6.4L17 7M7 17l-1.4 1.4m12.8 0L17 17M7 7 5.6 5.6',
  tag: 'M4 4h8l8.5 8.5-8 8L4 12V4Zm4.2 4.2v.1',
  trash: 'M4.5 6.5h15M9.5 6V4h5v2M6.5 6.5l.8 13.5h9.4l.8-13.5M10 10.5v6m4-6v6',
  undo: 'M8.5 5 4 9.5 8.5 14M4.5 9.5h10a5 5 0 0 1 0 10H9',
  upload: 'M12 20V9m-5 4.5 5-5 5 5M5 4h14',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM4.5 20.5a7.5 7.5 0 0 1 15 0',
  waveform: 'M3.5 10.5v3m4.2-6.5v10M12 3.5v17m4.3-13.5v10m4.2-6.5v3',
  webhook:
    'M9.5 9.5A3.8 3.8 0 1 1 15.4 8M9.5 9.5 6.5 15m0 0a2.8 2.8 0 1 0 2.7 3.5h6.3m-3.9-11L15 14a3.6 3.6 0 1 1-1 5.5',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration beside a text: a screen reader does not read it. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.75"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
