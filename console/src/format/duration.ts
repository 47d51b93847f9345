import { t } from '../language/texts';

/** `0:07`, `12:40`, `2:03:09`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** In words, for a screen reader: `2 hours 3 minutes`, `7 seconds`. */
export function spokenDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const parts = [
    hours > 0 && t('{hours, plural, one {# hour} other {# hours}}', { hours }),
    minutes > 0 && t('{minutes, plural, one {# minute} other {# minutes}}', { minutes }),
    (rest > 0 || whole === 0) && t('{seconds, plural, one {# second} other {# seconds}}', { seconds: rest }),
  ];
  return parts.filter(Boolean).slice(0, 2).join(' ');
}
