import { ProgressEstimate, roughly } from './run-progress';

describe('the progress of a transcription', () => {
  const DURATION = 600;

  it('is told by its parts, and how long the rest takes by how fast they came', () => {
    const estimate = new ProgressEstimate();
    expect(estimate.next(60, DURATION, 'one', 0)).toEqual({
      end: 60,
      share: 0.1,
      secondsLeft: null,
      text: 'one',
    });
    expect(estimate.next(60, DURATION, 'one', 10_000).secondsLeft).toBeNull();
    expect(estimate.next(180, DURATION, 'one two', 60_000)).toMatchObject({ share: 0.3, secondsLeft: 210 });
    expect(estimate.next(600, DURATION, '', 300_000)).toMatchObject({ share: 1, secondsLeft: 0 });
    expect(estimate.next(700, 0, '', 400_000)).toMatchObject({ share: null, secondsLeft: null });
  });

  it('begins anew with another attempt', () => {
    const estimate = new ProgressEstimate();
    estimate.next(300, DURATION, '', 0);
    expect(estimate.next(60, DURATION, '', 1000).secondsLeft).toBeNull();
    expect(estimate.next(120, DURATION, '', 61_000).secondsLeft).toBe(480);
  });

  it.each([
    [20, 'less than a minute'],
    [70, 'about a minute'],
    [250, 'about 4 minutes'],
    [4000, 'about an hour'],
    [9000, 'about 3 hours'],
  ])('of %d s is said as a person would', (seconds, expected) => {
    expect(roughly(seconds)).toBe(expected);
  });
});
