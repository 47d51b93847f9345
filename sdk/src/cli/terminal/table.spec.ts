import { bytes, duration, time } from './format.js';
import { type Column, tableOf } from './table.js';
import { fit, oneLine, printable, widthOf } from './text-width.js';

describe('text on a terminal', () => {
  it.each([
    ['note.ogg', 8],
    ['übung.ogg', 9],
    ['u\u0308bung', 5],
    ['会議.ogg', 8],
    ['🎙️ memo', 7],
    ['', 0],
  ])('%j takes %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it('is cut to the columns that there are', () => {
    expect(fit('meeting.ogg', 11)).toBe('meeting.ogg');
    expect(fit('meeting.ogg', 6)).toBe('meeti…');
    expect(fit('会議の録音', 6)).toBe('会議…');
  });

  it('moves no cursor and turns no text around', () => {
    expect(oneLine('a\u001b]0;title\u0007b\nc\u202ed')).toBe('a\ufffd]0;title\ufffdb c\ufffdd');
    expect(printable('a\n\tb\u001b[2J')).toBe('a\n\tb\ufffd[2J');
  });
});

describe('a table', () => {
  const columns: Column<{ id: string; day: string; name: string }>[] = [
    { title: 'ID', value: ({ id }) => id },
    { title: 'DAY', value: ({ day }) => day, optional: 1 },
    { title: 'NAME', value: ({ name }) => name, flexible: true },
  ];
  const rows = [
    { id: '1', day: '2026-11-22', name: 'a name of more than twenty columns' },
    { id: '22', day: '2026-11-21', name: 'short' },
  ];
  const plain = (_colour: string, text: string) => text;
  const shown = (width: number | null) => tableOf(rows, columns, width, plain).split('\n');

  it('shows everything in full to a program', () => {
    expect(shown(null)).toEqual([
      'ID  DAY         NAME',
      '1   2026-11-22  a name of more than twenty columns',
      '22  2026-11-21  short',
    ]);
  });

  it('cuts the flexible column, then leaves out what is optional', () => {
    expect(shown(40)[1]).toBe('1   2026-11-22  a name of more than twe…');
    expect(shown(30)).toEqual(['ID  NAME', '1   a name of more than twent…', '22  short']);
    for (const width of [40, 30]) for (const line of shown(width)) expect(line.length).toBeLessThanOrEqual(width);
  });
});

describe('values for people', () => {
  it('are lengths, sizes and times', () => {
    expect([duration(3.4), duration(151), duration(3751)]).toEqual(['0:03', '2:31', '1:02:31']);
    expect([bytes(999), bytes(8140), bytes(352_000), bytes(26_214_401)]).toEqual([
      '999 bytes',
      '8.1 kB',
      '352 kB',
      '26.2 MB',
    ]);
    expect(time('2026-11-22T15:04:05', false)).toBe('2026-11-22T15:04:05Z');
    expect(time(null, true)).toBe('-');
  });
});
