import {
  backupIdOf,
  type BackupManifest,
  lineOfObject,
  objectOfLine,
  parseManifest,
  serializeManifest,
  timeOfName,
} from './backup-format.js';

const MANIFEST: BackupManifest = {
  format: 1,
  id: '20261128-213005017-abcdef',
  installation: 'i',
  at: '2026-11-28T21:30:05.017Z',
  finished_at: '2026-11-28T21:31:00.000Z',
  secret_key_id: 'k',
  migrations: ['A1'],
  tables: [{ name: 'accounts', columns: ['id'], rows: 1, files: [{ key: 'f.gz', bytes: 3, sha256: 's' }] }],
  sequences: [],
  objects: { count: 0, bytes: 0, copied: 0, erased: 0, missing: 0, missing_keys: [], lists: [] },
};

describe('the name of a backup', () => {
  it('has its time, to the millisecond, and sorts by it', () => {
    const times = ['2026-11-28T21:30:05.017Z', '2026-11-28T21:30:05.018Z', '2027-01-01T00:00:00.000Z'];
    const ids = times.map((time) => backupIdOf(new Date(time)));
    expect(ids.map((id) => timeOfName(id).toISOString())).toEqual(times);
    expect(ids.toSorted()).toEqual(ids);
    expect(backupIdOf(new Date(times[0] as string))).not.toBe(ids[0]);
  });
});

describe('the manifest of a backup', () => {
  const text = serializeManifest(MANIFEST);

  it('is read as it was written', () => {
    expect(parseManifest(MANIFEST.id, text)).toEqual(MANIFEST);
  });

  it.each([
    ['a number', text.replace('"rows":1', '"rows":2')],
    ['the id', text.replaceAll('abcdef', 'abcdee')],
    ['its end', text.slice(0, 100)],
    ['all of it', 'null'],
  ])('is refused when %s is not what was written', (_, changed) => {
    expect(() => parseManifest(MANIFEST.id, changed)).toThrow('is damaged');
  });

  it('is refused in another format', () => {
    const other = serializeManifest({ ...MANIFEST, format: 2 as 1 });
    expect(() => parseManifest(MANIFEST.id, other)).toThrow('has format 2. Use the release that made it.');
  });
});

describe('a line of a list of objects', () => {
  it('is read as it was written, and refused without all of its fields', () => {
    const object = { key: 'a/b.wav', recordingId: 'r', bytes: 0, sha256: 's' };
    expect(objectOfLine(lineOfObject(object).trimEnd())).toEqual(object);
    expect(() => objectOfLine('a/b.wav\tr')).toThrow('damaged');
  });
});
