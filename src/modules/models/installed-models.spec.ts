import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onnxModel } from '../../../test/support/models/onnx-writer.js';
import { InstalledModels, type ModelRecord, selectedModel } from './installed-models.js';

const RECORD: ModelRecord = {
  name: 'small',
  title: 'Small',
  kind: 'whisper',
  languages: ['english'],
  licence: null,
  source: { address: 'https://example.com', repository: 'a/b', revision: 'c' },
  files: [{ name: 'tokens.txt', bytes: 3, sha256: 'd', published: null }],
  installed_at: '2026-11-22T12:00:00Z',
  verified_at: '2026-11-22T12:00:00Z',
};

describe('InstalledModels', () => {
  let root: string;
  let models: InstalledModels;

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'voice-notes-models-'));
    models = new InstalledModels(root);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function install(name: string, tokens = 'one'): Promise<void> {
    const work = models.workFolderOf(name);
    mkdirSync(work, { recursive: true });
    writeFileSync(path.join(work, 'tokens.txt'), tokens);
    await models.install(name, { ...RECORD, name });
  }

  it('is empty when it does not exist', async () => {
    expect(await new InstalledModels(path.join(root, 'absent')).list()).toEqual([]);
    expect(selectedModel(path.join(root, 'absent'))).toBeNull();
  });

  it('lists complete models only: no work, no locks, no files', async () => {
    await install('small');
    mkdirSync(models.workFolderOf('half'), { recursive: true });
    writeFileSync(path.join(root, 'catalogue.json'), '[]');
    mkdirSync(path.join(root, 'by-hand'));
    symlinkSync(path.join(root, 'small'), path.join(root, 'linked'));

    const listed = await models.list();
    expect(listed.map(({ name }) => name)).toEqual(['by-hand', 'linked', 'small']);
    expect(listed[0]).toMatchObject({ bytes: 0, isSelected: false, record: null });
    expect(listed[2]).toMatchObject({ record: { kind: 'whisper' } });
  });

  it('replaces a model as a whole', async () => {
    await install('small', 'one');
    await install('small', 'two');
    expect(readFileSync(path.join(root, 'small', 'tokens.txt'), 'utf8')).toBe('two');
    expect(existsSync(`${models.workFolderOf('small')}.before`)).toBe(false);
  });

  it('remembers which one is selected, and refuses one that is not there', async () => {
    await install('small');
    await models.select('small');
    expect(selectedModel(root)).toBe('small');
    expect(await models.get('small')).toMatchObject({ isSelected: true });
    await expect(models.select('large')).rejects.toThrow(/not in .*There: small\. Download it: .* pull large/);
    expect(selectedModel(root)).toBe('small');
  });

  it('remembers a streaming model beside the other', async () => {
    await install('small');
    await models.select('small');
    await install('live');
    const value = { name: 'x', type: 'float', shape: ['N'] } as const;
    const metadata = { model_type: 'zipformer2_ctc', decode_chunk_len: '32' };
    const model = onnxModel({ inputs: [value], outputs: [value], nodes: [], metadata });
    writeFileSync(path.join(root, 'live', 'model.onnx'), model);
    await models.select('live');
    expect([selectedModel(root), selectedModel(root, 'streaming')]).toEqual(['small', 'live']);
    expect(await models.get('live')).toMatchObject({ isSelected: true });
  });

  it.each(['../transcriptions', '../small', '.work', 'a/b', '', 'Small', 'x'.repeat(65)])(
    'refuses the name %j',
    async (name) => {
      await expect(models.find(name)).rejects.toThrow('cannot be the name of a model');
      await expect(models.remove(name)).rejects.toThrow('cannot be the name of a model');
    },
  );

  it('ignores a selection that is no name', () => {
    writeFileSync(path.join(root, 'selected'), '../../etc\n');
    expect(selectedModel(root)).toBeNull();
  });

  it('removes the selected model only by force, and then selects none', async () => {
    await install('small');
    await models.select('small');
    await expect(models.remove('small')).rejects.toThrow('is the selected model');
    await models.remove('small', { force: true });
    expect(await models.list()).toEqual([]);
    expect(selectedModel(root)).toBeNull();
    await expect(models.remove('small')).rejects.toThrow('is not in');
  });
});
