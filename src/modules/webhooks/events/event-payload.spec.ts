import type { RecordingSnapshot } from '../../recordings/recordings.events.js';
import {
  acceptedPayload,
  correctedPayload,
  deletedPayload,
  endUserOf,
  failedPayload,
  partialPayload,
  transcribedPayload,
  withoutPersonalData,
  withoutText,
} from './event-payload.js';

const RECORDING: RecordingSnapshot = {
  id: '0193-r',
  accountId: 'account',
  userId: 'user "1"',
  originalFilename: 'note.webm',
  audioFormat: 'webm',
  durationMs: 3740,
  customTags: null,
  status: 'transcribed',
  run: 1,
  createdAt: new Date('2026-11-21T10:00:00.123Z'),
  processedAt: new Date('2026-11-21T10:00:09.900Z'),
};
const REASON = 'The audio cannot be decoded.\n';

describe('event payloads', () => {
  it('write recording.transcribed in the order of the interface', () => {
    expect(transcribedPayload(RECORDING)).toBe(
      '{"event":"recording.transcribed","timestamp":"2026-11-21T10:00:09Z","recording":{"id":"0193-r",' +
        '"status":"transcribed","duration":3.74,"format":"webm","identity":"user \\"1\\"",' +
        '"created_at":"2026-11-21T10:00:00Z","completed_at":"2026-11-21T10:00:09Z"}}',
    );
  });

  it('write recording.failed in the order of the interface', () => {
    expect(failedPayload(RECORDING, REASON)).toBe(
      '{"event":"recording.failed","timestamp":"2026-11-21T10:00:09Z","recording":{"id":"0193-r",' +
        '"status":"failed","identity":"user \\"1\\"","created_at":"2026-11-21T10:00:00Z"},' +
        '"error":{"code":"TRANSCRIPTION_FAILED","message":"The audio cannot be decoded.\\n"}}',
    );
  });

  it('write recording.accepted and recording.deleted in the same order', () => {
    expect(acceptedPayload({ ...RECORDING, durationMs: 3700 }, new Date('2026-11-21T10:00:01Z'))).toBe(
      '{"event":"recording.accepted","timestamp":"2026-11-21T10:00:01Z","recording":{"id":"0193-r",' +
        '"status":"processing","duration":3.7,"format":"webm","identity":"user \\"1\\"",' +
        '"created_at":"2026-11-21T10:00:00Z"}}',
    );
    expect(deletedPayload({ ...RECORDING, customTags: '{"b":"1"}' }, new Date('2026-11-21T10:00:09.900Z'))).toBe(
      '{"event":"recording.deleted","timestamp":"2026-11-21T10:00:09Z","recording":{"id":"0193-r",' +
        '"status":"deleted","identity":"user \\"1\\"","created_at":"2026-11-21T10:00:00Z","custom_tags":{"b":"1"}}}',
    );
  });

  it('write recording.partial in the order of the interface', () => {
    const part = { index: 2, start: 30.0004, end: 45.25, text: 'a "b"' };
    expect(partialPayload({ ...RECORDING, userId: null }, part, new Date('2026-11-21T10:00:05Z'))).toBe(
      '{"event":"recording.partial","timestamp":"2026-11-21T10:00:05Z","recording":{"id":"0193-r",' +
        '"status":"processing","duration":3.74,"format":"webm","identity":null,"created_at":"2026-11-21T10:00:00Z"},' +
        '"partial":{"index":2,"start":30,"end":45.25,"text":"a \\"b\\""}}',
    );
  });

  it('write transcription.corrected in the order of the interface', () => {
    expect(correctedPayload(RECORDING, 'corrected', new Date('2026-11-22T08:00:00Z'))).toBe(
      '{"event":"transcription.corrected","timestamp":"2026-11-22T08:00:00Z","recording":{"id":"0193-r",' +
        '"status":"transcribed","duration":3.74,"format":"webm","identity":"user \\"1\\"",' +
        '"created_at":"2026-11-21T10:00:00Z","completed_at":"2026-11-21T10:00:09Z"},' +
        '"transcription":{"version":"corrected"}}',
    );
  });

  it('say null for a recording without an end user', () => {
    expect(transcribedPayload({ ...RECORDING, userId: null })).toContain('"identity":null,"created_at"');
    expect(failedPayload({ ...RECORDING, userId: null }, REASON)).toContain('"identity":null,"created_at"');
  });

  it.each(['{"z":"1","10":"2","2":"3"}', '{"__proto__":"x","ort":"Köln"}', '{}'])(
    'carry the tags last in the recording and as they were sent: %s',
    (customTags) => {
      expect(transcribedPayload({ ...RECORDING, customTags })).toContain(
        `"completed_at":"2026-11-21T10:00:09Z","custom_tags":${customTags}}}`,
      );
      expect(failedPayload({ ...RECORDING, customTags }, REASON)).toContain(
        `"created_at":"2026-11-21T10:00:00Z","custom_tags":${customTags}},"error"`,
      );
    },
  );
});

describe('personal data in the body of an event', () => {
  const tagged = { ...RECORDING, customTags: '{"z":"1","10":"2"}' };
  const without = { userId: null, customTags: null };

  it('is the end user', () => {
    expect(endUserOf(transcribedPayload(tagged))).toBe('user "1"');
    expect(endUserOf(transcribedPayload({ ...tagged, userId: null }))).toBeNull();
    expect(endUserOf('{"identity":"elsewhere"}')).toBeNull();
    expect(endUserOf('not JSON "identity":"x"')).toBeNull();
  });

  it('is removed with the tags, and nothing else changes', () => {
    expect(withoutPersonalData(transcribedPayload(tagged))).toBe(transcribedPayload({ ...tagged, ...without }));
    expect(withoutPersonalData(failedPayload(tagged, REASON))).toBe(failedPayload({ ...tagged, ...without }, REASON));
    const part = { index: 0, start: 0, end: 20, text: 'my name is Ada' };
    const partial = partialPayload(tagged, part, new Date('2026-11-21T10:00:05Z'));
    expect(withoutPersonalData(partial)).toBe(
      partialPayload({ ...tagged, ...without }, { ...part, text: '' }, new Date('2026-11-21T10:00:05Z')),
    );
    expect(withoutText(partial)).not.toContain('Ada');
    expect(endUserOf(withoutText(partial))).toBe('user "1"');
    for (const body of ['{"x":1}', 'null', 'not JSON']) {
      expect(withoutPersonalData(body)).toBe(body);
      expect(withoutText(body)).toBe(body);
    }
  });
});
