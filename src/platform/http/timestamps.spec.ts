import { creationTime, eventTime, resourceTime } from './timestamps.js';

describe('timestamps', () => {
  const date = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 999));

  it('writes resource times without zone and fraction, cut off rather than rounded', () => {
    expect(resourceTime(date)).toBe('2026-01-02T03:04:05');
  });

  it('writes creation times with milliseconds and Z', () => {
    expect(creationTime(date)).toBe('2026-01-02T03:04:05.999Z');
    expect(creationTime(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
  });

  it('writes event times with Z and no fraction', () => {
    expect(eventTime(date)).toBe('2026-01-02T03:04:05Z');
  });
});
