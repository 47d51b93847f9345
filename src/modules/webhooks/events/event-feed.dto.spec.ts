import { isSequence, ListEventsQuery, presentEventPage, presentStreamedEvent } from './event-feed.dto.js';
import type { FeedEvent } from './event-feed.service.js';

const EVENT: FeedEvent = {
  id: '019aa5c1-3a77-7d0c-9c1e-52d1f0c6a9e4',
  sequence: 18,
  kind: 'recording.transcribed',
  body: '{"b":1,"7":"é"}',
  createdAt: new Date('2026-11-21T10:15:04.700Z'),
};

describe('presentEventPage', () => {
  it('has each body as it was stored', () => {
    const page = presentEventPage({ after: '17', limit: 50 }, { events: [EVENT], hasMore: false });
    expect(page).toBe(
      '{"events":[{"id":"019aa5c1-3a77-7d0c-9c1e-52d1f0c6a9e4","sequence":18,"event":"recording.transcribed",' +
        '"created_at":"2026-11-21T10:15:04","body":{"b":1,"7":"é"}}],' +
        '"uri":"/v1/events?after=17&limit=50","next_uri":null}',
    );
  });

  it('leads to what follows its last event, only while something does', () => {
    const nextOf = (events: FeedEvent[], hasMore: boolean): unknown =>
      (JSON.parse(presentEventPage({ after: 'latest', limit: 2 }, { events, hasMore })) as { next_uri: unknown })
        .next_uri;
    expect(nextOf([EVENT, { ...EVENT, sequence: 19 }], true)).toBe('/v1/events?after=19&limit=2');
    expect(nextOf([EVENT, { ...EVENT, sequence: 19 }], false)).toBeNull();
    expect(nextOf([], true)).toBeNull();
  });

  it('sends what is no JSON as a text', () => {
    const page = presentEventPage({ after: '0', limit: 1 }, { events: [{ ...EVENT, body: 'a "b"' }], hasMore: false });
    expect(JSON.parse(page)).toMatchObject({ events: [{ body: 'a "b"' }] });
  });
});

describe('presentStreamedEvent', () => {
  it('is a message of server-sent events, a line of data for each line of the body', () => {
    expect(presentStreamedEvent(EVENT)).toBe('id: 18\nevent: recording.transcribed\ndata: {"b":1,"7":"é"}\n\n');
    expect(presentStreamedEvent({ ...EVENT, body: '{\r\n"a":\r1,\n"b":2}' })).toBe(
      'id: 18\nevent: recording.transcribed\ndata: {\ndata: "a":\ndata: 1,\ndata: "b":2}\n\n',
    );
    expect(presentStreamedEvent({ ...EVENT, body: 'no\njson' })).toContain('\ndata: "no\\njson"\n\n');
  });
});

describe('the position of a reader', () => {
  it.each(['0', '18', '9'.repeat(15)])('may be %s', (value) => expect(isSequence(value)).toBe(true));

  it.each(['', '-1', '1.5', 'latest', ' 1', '1'.repeat(16), 1, undefined])('is not %j', (value) =>
    expect(isSequence(value)).toBe(false),
  );

  it('is the oldest event by default, with 50 events on a page', () => {
    expect(new ListEventsQuery()).toEqual({ after: '0', limit: 50 });
  });
});
