import { presentRecordingPage } from './recording.presenter.js';
import { ListRecordingsQuery } from './recordings.dto.js';
import { LISTED_COLUMNS, type ListedRecording, pageStatement } from './recording-page.queries.js';

const listed = [...LISTED_COLUMNS.matchAll(/AS "(\w+)"/g)].map(([, property]) => property);

describe('LISTED_COLUMNS', () => {
  it('are all columns that a page shows, and no others', () => {
    const read = new Set<string | symbol>();
    const recording = new Proxy({ createdAt: new Date(), updatedAt: new Date(), customTags: null } as ListedRecording, {
      get: (row, property) => (read.add(property), Reflect.get(row, property) as unknown),
    });
    presentRecordingPage(new ListRecordingsQuery(), { items: [recording], total: 1 });
    expect(new Set<unknown>(listed)).toEqual(read);
  });

  it.each([0, 1])('are what page %i of every kind reads', (page) => {
    for (const filter of [{}, { status: 'failed' }, { date_from: '2026-11-21' }]) {
      const { sql } = pageStatement('a', Object.assign(new ListRecordingsQuery(), { page }, filter));
      expect(sql).toContain(`SELECT ${LISTED_COLUMNS} FROM recordings r`);
    }
  });
});
