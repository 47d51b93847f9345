import { v7 as uuidv7 } from 'uuid';
import { spanIdOf, traceIdOf, uuidOf } from './work-ids.js';

const ID = '019c1dd9-5f3a-7c2e-9b1d-3f5a7c2e9b1d';

describe('the ids of a trace', () => {
  it('are those of the row in its first run, so that one can be looked up by the other', () => {
    expect(traceIdOf({ id: ID, run: 1 })).toBe('019c1dd95f3a7c2e9b1d3f5a7c2e9b1d');
    for (const id of [ID, uuidv7()]) expect(uuidOf(traceIdOf({ id, run: 1 }))).toBe(id);
  });

  it('are others in each further run, and for each step', () => {
    const traceIds = [1, 2, 3].map((run) => traceIdOf({ id: ID, run }));
    const spanIds = traceIds.flatMap((traceId) => ['root', 'transcribe run'].map((step) => spanIdOf(traceId, step)));
    expect(new Set(traceIds).size).toBe(3);
    expect(new Set(spanIds).size).toBe(6);
    for (const traceId of traceIds) expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    for (const spanId of spanIds) expect(spanId).toMatch(/^[0-9a-f]{16}$/);
  });

  it('stay the same in every release: processes of two may share a trace', () => {
    expect(traceIdOf({ id: ID, run: 2 })).toBe('12eeaf99b7ca8d13e42caa4944858a95');
    expect(spanIdOf('019c1dd95f3a7c2e9b1d3f5a7c2e9b1d', 'transcribe run')).toBe('874de1c4459fe164');
  });
});
