const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** `today 14:02`, or the day and the time. @param at milliseconds since 1970 */
export function formatMoment(at: number, now = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? `today ${TIME.format(at)}` : DAY_AND_TIME.format(at);
}
