import { locale } from '../../language/language';

const MINUTE = 60;
const HOUR = 3600;

/** A length that need not be exact: `38 s`, `12 min`, `4.2 h`. */
export function formatHours(seconds: number): string {
  if (seconds < MINUTE) return `${Math.round(seconds)} s`;
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)} min`;
  const digits = seconds < 100 * HOUR ? 1 : 0;
  return `${(seconds / HOUR).toLocaleString(locale.value, { maximumFractionDigits: digits })} h`;
}
