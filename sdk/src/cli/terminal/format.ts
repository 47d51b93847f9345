/** Values for people. */

/** Seconds as `2:31` or `1:02:31`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

export function bytes(size: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [size, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** The service writes UTC, most of it without a zone. */
export function timeOf(text: string): Date {
  return new Date(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}

/** For a person in local time, as `ls` does it; for a program in UTC. */
export function time(text: string | null, forPeople: boolean, now: Date = new Date()): string {
  if (text === null) return '-';
  const date = timeOf(text);
  if (!forPeople) return date.toISOString().replace('.000Z', 'Z');
  const day = new Intl.DateTimeFormat('en', { month: 'short', day: '2-digit' }).format(date);
  const two = (value: number) => String(value).padStart(2, '0');
  const age = now.getTime() - date.getTime();
  return age >= 0 && age < HALF_A_YEAR_MS
    ? `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
    : `${day}  ${date.getFullYear()}`;
}

const HALF_A_YEAR_MS = 183 * 86_400_000;

export function clock(date: Date): string {
  return date.toTimeString().slice(0, 8);
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

export function tagsOf(tags: Record<string, string> | null): string {
  return Object.entries(tags ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
