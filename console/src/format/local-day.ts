/** The years that the service takes. */
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** The day of a time where the person is, as `YYYY-MM-DD`. */
export function localDay(time: Date): string {
  const [year, month, day] = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return [String(year).padStart(4, '0'), ...[month, day].map((part) => String(part).padStart(2, '0'))].join('-');
}

/** Empty for what is not a day that exists. */
export function readDay(text: string | null): string {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return '';
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text) ? text : '';
}

/**
 * When a day begins where the person is, or the day so many `days` after it. A day has 23 or 25 hours where the clocks change,
 * and has no midnight where they go forward at midnight.
 */
export function beginningOf(day: string, days = 0): Date {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
  const time = new Date(2000, 0, 1);
  // Years before 100 would be of the 20th century in a constructor.
  time.setFullYear(year, month - 1, date + days);
  return time;
}

/** For the service. */
export const instantOf = (time: Date): string =>
  new Date(Math.min(Math.max(time.getTime(), EARLIEST), LATEST)).toISOString();
