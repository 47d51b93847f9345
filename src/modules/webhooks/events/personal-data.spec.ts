import { failedPayload, transcribedPayload } from './event-payload.js';
import { endUserOf, withoutPersonalData } from './personal-data.js';

const facts = {
  occurredAt: new Date('2026-11-21T10:00:09Z'),
  recordingId: '0193-r',
  identity: 'user "1"' as string | null,
  createdAt: new Date('2026-11-21T10:00:00Z'),
  customTags: '{"z":"1","10":"2"}' as string | null,
};
const transcribed = { ...facts, durationSeconds: 3.74, format: 'webm', completedAt: facts.occurredAt };
const failed = { ...facts, reason: 'no audio' };
const without = { identity: null, customTags: null };

describe('personal data in the body of an event', () => {
  it('is the end user', () => {
    expect(endUserOf(transcribedPayload(transcribed))).toBe('user "1"');
    expect(endUserOf(transcribedPayload({ ...transcribed, identity: null }))).toBeNull();
    expect(endUserOf('{"identity":"elsewhere"}')).toBeNull();
    expect(endUserOf('not JSON "identity":"x"')).toBeNull();
  });

  it('is removed with the tags, and nothing else changes', () => {
    expect(withoutPersonalData(transcribedPayload(transcribed))).toBe(
      transcribedPayload({ ...transcribed, ...without }),
    );
    expect(withoutPersonalData(failedPayload(failed))).toBe(failedPayload({ ...failed, ...without }));
    for (const body of ['{"x":1}', 'null', 'not JSON']) expect(withoutPersonalData(body)).toBe(body);
  });
});
