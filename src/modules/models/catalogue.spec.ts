import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { languageName } from '../../platform/languages.js';
import { findEntry, languagesOf, readCatalogue } from './catalogue.js';
import { CATALOGUE } from './catalogue-entries.js';
import { MODEL_NAME } from './installed-models.js';
import { SPEAKER_CATALOGUE } from './speaker-catalogue.js';

describe('the catalogue', () => {
  it('has each name once, and repositories, licences and sizes in their form', () => {
    expect(new Set(CATALOGUE.map(({ name }) => name)).size).toBe(CATALOGUE.length);
    expect(new Set(CATALOGUE.map(({ repository }) => repository)).size).toBe(CATALOGUE.length);
    for (const { name, repository, licence, approximateBytes } of CATALOGUE) {
      expect(name).toMatch(MODEL_NAME);
      expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/);
      if (licence !== null) expect(licence.source).toMatch(/^https:\/\//);
      if (approximateBytes !== null) expect(approximateBytes).toBeGreaterThan(40e6);
    }
  });

  it('has files that lie side by side, one of them the tokens', () => {
    for (const { files } of CATALOGUE) {
      const names = files.map((file) => path.posix.basename(file));
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => name.endsWith('tokens.txt'))).toHaveLength(1);
    }
  });

  it('names languages that clients can ask for', () => {
    const codes = CATALOGUE.flatMap(({ languages }) => (languages === 'any' ? [] : languages));
    expect(codes.filter((code) => languageName(code) === null)).toEqual([]);
    expect(languagesOf(findEntry(CATALOGUE, 'fastconformer-de'))).toEqual(['german']);
    expect(languagesOf(findEntry(CATALOGUE, 'omnilingual-300m'))).toBe('any');
  });

  it('suggests names to one that it does not have', () => {
    expect(() => findEntry(CATALOGUE, 'whisper-huge')).toThrow(/no model "whisper-huge"\. Similar: .*whisper-small/);
    expect(() => findEntry(CATALOGUE, 'x')).toThrow(/npm run models -- list/);
  });
});

describe("an operator's own catalogue", () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'voice-notes-catalogue-'));
  const file = path.join(folder, 'catalogue.json');
  afterAll(() => rmSync(folder, { recursive: true }));

  const ENTRY = { name: 'ours', repository: 'acme/speech', files: ['onnx/model.onnx', 'tokens.txt'] };
  const read = (content: unknown) => {
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return readCatalogue(folder);
  };

  it('need not be there', async () => {
    expect(await readCatalogue(path.join(folder, 'absent'))).toEqual([...CATALOGUE, ...SPEAKER_CATALOGUE]);
  });

  it('comes first and replaces an entry of the same name', async () => {
    const [first, second, ...rest] = await read([ENTRY, { ...ENTRY, name: 'whisper-small' }]);
    expect(first).toMatchObject({ ...ENTRY, revision: 'main', languages: 'any', approximateBytes: null });
    expect(second).toMatchObject({ name: 'whisper-small', repository: 'acme/speech' });
    expect(rest).toHaveLength(CATALOGUE.length + SPEAKER_CATALOGUE.length - 1);
  });

  it.each([
    ['[', 'is not JSON'],
    [{}, 'must hold a list'],
    [[{ ...ENTRY, name: '../x' }], 'entry 1: name must be'],
    [[ENTRY, { ...ENTRY, repository: 'https://example.com' }], 'entry 2: repository must be owner/name'],
    [[{ ...ENTRY, files: ['../../etc/passwd'] }], 'files must be a list of paths'],
    [[{ ...ENTRY, files: ['/etc/passwd'] }], 'files must be a list of paths'],
    [[{ ...ENTRY, files: ['a/model.onnx', 'b/model.onnx'] }], 'files must differ in name'],
    [[{ ...ENTRY, languages: ['klingonese'] }], 'languages must be'],
    [[{ ...ENTRY, speed: 'warp' }], 'speed must be fast, medium, slow'],
    [[null], 'name must be'],
  ])('%j is refused: %s', async (content, rule) => {
    await expect(read(content)).rejects.toThrow(rule);
  });
});
