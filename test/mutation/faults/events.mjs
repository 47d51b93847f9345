/** @type {import('../catalogue.mjs').FaultGroup[]} */
export const events = [
  {
    file: 'src/modules/webhooks/events/event-streams.service.ts',
    tests: 'src/modules/webhooks/events/event-streams.service.spec.ts',
    faults: [
      ['looks for news of the stream that is furthest ahead', 'after: Math.min(...open', 'after: Math.max(...open'],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-streams.service.ts',
    tests: 'test/http/resources/webhooks/webhooks-and-events.e2e.ts',
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
    file: 'src/modules/webhooks/events/event-feed.service.ts',
    tests: 'test/http/resources/webhooks/webhooks-and-events.e2e.ts',
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
    file: 'src/modules/transcriptions/exports/render-export.ts',
    tests: 'src/modules/transcriptions/exports/exports.spec.ts',
    faults: [['an ampersand is not escaped in WebVTT', "line.replaceAll('&', '&amp;').replaceAll", 'line.replaceAll']],
  },
  {
    file: 'src/modules/recordings/search/recording-search.service.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'is paged to the end',
    faults: [
      [
        'a search by rank leads to pages behind the last that is ordered',
        'hasMore: Math.min(total, MAX_COUNTED) > slice',
        'hasMore: total > slice',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/corrections.service.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: 'of the words has',
    faults: [
      [
        'a correction that changes only the times of words is dropped',
        'served.text === corrected.correctedText && served',
        'served.text === corrected.correctedText || served',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-feed.service.ts',
    tests: 'test/http/resources/webhooks/webhooks-and-events.e2e.ts',
    name: 'full page',
    faults: [
      [
        'a full page says that nothing follows',
        'selectNextEvents(this.database, readers, limit + 1)',
        'selectNextEvents(this.database, readers, limit)',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/corrections.service.ts',
    tests: 'test/http/resources/transcriptions.e2e.ts',
    name: '50 editors',
    faults: [['a correction can be made against an old version', "lock: { mode: 'for_no_key_update' },", '']],
  },
  {
    file: 'src/modules/recordings/waveform/waveforms.service.ts',
    tests: 'test/http/resources/formats-and-waveforms.e2e.ts',
    name: 'says why|stays as it is|is made by',
    faults: [['a waveform that will be made again is said to be unavailable', ' || found.rerun !== null', '']],
  },
  {
    file: 'src/modules/recordings/recording-page.queries.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'past the 10,000',
    faults: [
      [
        'the last day is left out of a search among frequent words',
        'untilDay(column, place(to))',
        "`${column} < ${place(to)}::date::timestamp AT TIME ZONE 'UTC'`",
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-stream.ts',
    tests: 'src/modules/webhooks/events/event-stream.spec.ts',
    faults: [
      [
        'a reader that is a hundred events behind waits for the next poll',
        'hasMore && !stream.isBlocked',
        'events.length > 100 && !stream.isBlocked',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/corrected-words.ts',
    tests: 'src/modules/transcriptions/corrected-words.spec.ts',
    faults: [
      [
        'a word made of others is as sure as those that are known',
        '  if (known.length < kept.length) return null;\n',
        '',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-streams.service.ts',
    tests: 'src/modules/webhooks/events/event-streams.service.spec.ts',
    faults: [
      [
        'the slot of a stream that was closed stays taken',
        '      releaseSlot();\n      this.remove(stream);',
        '      this.remove(stream);',
      ],
    ],
  },
  {
    file: 'src/platform/redis/signals.service.ts',
    tests: 'test/components/signals.e2e.ts',
    name: 'that are left',
    faults: [
      [
        'the end of one listener ends those of the same channel',
        'if (!known?.delete(listener) || known.size > 0) return;',
        'if (!known?.delete(listener)) return;',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/search/recording-search.service.ts',
    tests: 'src/modules/recordings/search/recording-search.service.spec.ts',
    faults: [
      [
        'the last page of a search names a next one',
        'hasMore: few.total > offset + limit',
        'hasMore: few.total >= offset + limit',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/exports/render-export.ts',
    tests: 'src/modules/transcriptions/exports/exports.spec.ts',
    faults: [
      [
        'WebVTT shows the escapes of characters',
        "line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')",
        "line.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('&', '&amp;')",
      ],
    ],
  },
  {
    file: 'src/modules/recordings/search/search-query.ts',
    tests: 'src/modules/recordings/search/search-query.spec.ts',
    faults: [
      ['an or at the end of a query is dropped', '  if (pendingOr) alternatives.at(-1)?.push(pendingOr);\n', ''],
    ],
  },
  {
    file: 'src/modules/transcriptions/exports/cues.ts',
    tests: 'src/modules/transcriptions/exports/exports.spec.ts',
    faults: [
      [
        'cues of one channel overlap',
        'Math.max(tokens[0]?.start ?? 0, freeFrom.get(voice) ?? 0)',
        'tokens[0]?.start ?? 0',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-payload.ts',
    tests: 'src/modules/webhooks/events/event-payload.spec.ts',
    faults: [['the tags of an erased end user stay in the events', '  delete event.recording.custom_tags;\n', '']],
  },
  {
    file: 'src/modules/webhooks/events/webhook-events.listener.ts',
    tests: 'src/modules/webhooks/events/webhook-events.listener.spec.ts',
    faults: [
      [
        'nobody is told that a requested transcription failed',
        "if (rerun !== null && rerun !== 'requested') return;",
        'if (rerun !== null) return;',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/search/recording-search.service.ts',
    tests: 'src/modules/recordings/search/recording-search.service.spec.ts',
    faults: [
      [
        'a total counts as exact while older recordings are not searched yet',
        'total <= MAX_COUNTED && isComplete',
        'total <= MAX_COUNTED',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/exports/cues.ts',
    tests: 'src/modules/transcriptions/exports/cues.spec.ts',
    faults: [
      [
        'the end of a sentence within a cue is looked for at the wrong word',
        'pause + (this.at(index - 1).endsSentence',
        'pause + (this.at(index).endsSentence',
      ],
    ],
  },
  {
    file: 'src/modules/transcriptions/exports/cues.ts',
    tests: 'src/modules/transcriptions/exports/exports.spec.ts',
    faults: [
      [
        'the second line of a cue counts the first one, too',
        '      this.length = text.length;\n    }\n    return this.line',
        '      this.length += text.length;\n    }\n    return this.line',
      ],
    ],
  },
  {
    file: 'src/modules/recordings/search/search-backfill.service.ts',
    tests: 'test/http/resources/recordings.e2e.ts',
    name: 'earlier releases',
    faults: [
      [
        'transcriptions from before the search are not found where the recording has tags',
        'THEN s.text IS NULL',
        'THEN s.recording_id IS NULL',
      ],
    ],
  },
  {
    file: 'src/modules/webhooks/events/event-streams.service.ts',
    tests: 'src/modules/webhooks/events/event-streams.service.spec.ts',
    faults: [
      [
        'the process goes on to listen to accounts of which it has no stream any more',
        '      account.unsubscribe();\n      this.accounts',
        '      this.accounts',
      ],
    ],
  },
];
