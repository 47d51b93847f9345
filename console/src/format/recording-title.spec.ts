import { filenameOfTitle, titleOf } from './recording-title';

const titleFrom = (original_filename: string, upload_source: 'api' | 'console' = 'console') =>
  titleOf({ original_filename, upload_source, created_at: '2026-03-14T09:26:53' });

describe('the title of a recording', () => {
  it.each([
    'Call with "Ada"',
    '11/22 north\\south',
    'Version 2.5',
    'memo.webm',
    '50% done?',
    'blob',
    'Grüße 日本 🎙',
    '..',
  ])('is shown as it was typed: %s', (title) => {
    for (const extension of ['webm', 'm4a']) {
      const filename = filenameOfTitle(title, extension);
      expect(filename).not.toMatch(/[/\\]/);
      expect(titleFrom(filename)).toBe(title);
    }
  });

  it('is the whole name of a file that was uploaded by another client', () => {
    expect(titleFrom('memo.webm', 'api')).toBe('memo.webm');
    expect(titleFrom('note.wav')).toBe('note.wav');
  });

  it('is what it was renamed to, whatever its file is called', () => {
    const recording = { original_filename: 'blob', upload_source: 'api', created_at: '2026-03-14T09:26:53' } as const;
    expect(titleOf({ ...recording, title: 'North gate' })).toBe('North gate');
    expect(titleOf({ ...recording, title: 'blob' })).toMatch(/^Recording from/);
  });

  it('is the time of a recording that has no name', () => {
    expect(titleFrom('blob')).toMatch(/^Recording from .*2026/);
  });
});
