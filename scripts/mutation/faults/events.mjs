/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const events = [
  {
    file: 'src/modules/webhooks/feed/streams/event-streams.service.ts',
    tests: 'src/modules/webhooks/feed/streams/event-streams.service.spec.ts',
    faults: [
      ['looks for news of the stream that is furthest ahead', 'after: Math.min(...open', 'after: Math.max(...open'],
    ],
  },
  {
    file: 'src/modules/webhooks/feed/streams/event-streams.service.ts',
    tests: 'test/http/resources/events.e2e.ts',
    name: 'sends events as they',
    faults: [
      [
        'comments keep a stream open once a minute for each second',
        'this.env.eventStreamCommentSeconds * 1000',
        'this.env.eventStreamCommentSeconds * 60_000',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/feed/event-feed.service.ts',
    tests: 'test/http/resources/events.e2e.ts',
    name: 'goes on after',
    faults: [
      [
        'a reader that begins with the latest gets events that had no number yet',
        '    await repeatWhileFull(BATCH, () => numberEvents(this.database, [accountId], BATCH));\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/exports/subtitles.ts',
    tests: 'src/modules/transcriptions/exports/exports.spec.ts',
    faults: [['an ampersand is not escaped in WebVTT', "line.replaceAll('&', '&amp;').replaceAll", 'line.replaceAll']],
  },
];
