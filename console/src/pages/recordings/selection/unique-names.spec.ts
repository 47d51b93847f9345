import { uniqueNames } from './unique-names';

describe('the names of an archive', () => {
  it('are told apart by a number', () => {
    const nameOf = uniqueNames();
    const names = ['note.txt', 'Note.txt', 'note (3).txt', 'note.txt', 'note.txt', 'other.srt'].map(nameOf);
    expect(names).toEqual(['note.txt', 'Note (2).txt', 'note (3).txt', 'note (4).txt', 'note (5).txt', 'other.srt']);
  });

  it('takes no longer for many of the same', () => {
    const nameOf = uniqueNames();
    const names = Array.from({ length: 20_000 }, () => nameOf('voice-note.txt'));
    expect(new Set(names).size).toBe(20_000);
  });
});
