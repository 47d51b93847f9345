import { locale } from '../language/language';

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `88.2 kB`: units of 1,000, as operating systems and the documentation count. */
export function formatBytes(n: number): string {
  let [value, unit] = [n, 0];
  while (value >= 999.5 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1];
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toLocaleString(locale.value, { maximumFractionDigits: digits })} ${UNITS[unit]}`;
}
