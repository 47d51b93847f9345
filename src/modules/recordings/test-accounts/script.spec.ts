import { scriptOf } from './script.js';

const named = (originalFilename: string, durationMs = 500) => scriptOf({ originalFilename, durationMs });

describe('the script of an upload to a test account (D81)', () => {
  it.each([
    ['transcribed.wav', 'transcribed', 0],
    ['No-Speech.MP3', 'no-speech', 0],
    ['failed.ogg', 'failed-no-audio', 0],
    ['failed-too-long', 'failed-too-long', 0],
    ['failed-unheard-of.wav', 'transcribed', 0],
    ['slow-5.wav', 'transcribed', 5],
    ['slow-0.wav', 'transcribed', 0],
    ['slow-9999.wav', 'transcribed', 60],
    ['slow-x.wav', 'transcribed', 0],
    ['quota.wav', 'quota', 0],
    ['rate-limit.v2.wav', 'transcribed', 0],
    ['note.wav', 'transcribed', 0],
    ['.wav', 'transcribed', 0],
  ])('%s asks for %s after %d s', (name, outcome, delaySeconds) => {
    expect(named(name)).toEqual({ outcome, delaySeconds });
  });

  it.each([
    [60_000, 'transcribed'],
    [61_000, 'no-speech'],
    [60_990, 'no-speech'],
    [61_011, 'transcribed'],
    [62_000, 'failed-no-audio'],
    [74_000, 'failed-quota'],
    [75_000, 'quota'],
    [76_000, 'rate-limit'],
    [77_010, 'unavailable'],
    [78_000, 'transcribed'],
  ])('%d ms of another name ask for %s', (durationMs, outcome) => {
    expect(named('note.wav', durationMs).outcome).toBe(outcome);
  });

  it('is that of the name before that of the length', () => {
    expect(named('transcribed.wav', 61_000).outcome).toBe('transcribed');
    expect(named('slow-2.wav', 61_000)).toEqual({ outcome: 'transcribed', delaySeconds: 2 });
  });
});
