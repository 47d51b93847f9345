import fc from 'fast-check';
import { cleanFilename } from './original-filename.js';

describe('cleanFilename', () => {
  it.each([
    ['a plain name', 'note.wav', 'note.wav'],
    ['letters of any script, and emoji', 'Grüße 日本 🎙.webm', 'Grüße 日本 🎙.webm'],
    ['a Unix path', '../../etc/passwd.wav', 'passwd.wav'],
    ['a Windows path', 'C:\\dir\\note.wav', 'note.wav'],
    ['both separators', 'a\\b/c\\note.wav', 'note.wav'],
    ['what forms escape, and nothing else', '50%25 of %22it%22%0D%0A.wav', '50%25 of "it".wav'],
    ['line breaks', 'no\r\nte.wav', 'note.wav'],
    ['NUL, escape, delete and C1 controls', 'n\0o\x1bt\x7fe\x85.wav', 'note.wav'],
    ['a bidi override', 'evil\u202Evaw.exe', 'evilvaw.exe'],
    ['zero-width characters, soft hyphen, byte order mark', '\ufeffn\u200bo\u200dt\u00ade\u2060.wav', 'note.wav'],
    ['tag characters', 'note\u{e0041}.wav', 'note.wav'],
    ['line and paragraph separators', 'no\u2028te\u2029.wav', 'note.wav'],
    ['lone surrogates', 'no\ud800te\udc00.wav', 'note.wav'],
    ['decomposed letters', 'u\u0308ber.wav', 'über.wav'],
    ['space around', '  note.wav \u00a0', 'note.wav'],
    ['dots that a hidden character kept apart', '.\u200b.', 'recording'],
    ['a separator at the end', 'dir/', 'recording'],
  ])('cleans %s', (_, raw, clean) => {
    expect(cleanFilename(raw)).toBe(clean);
  });

  it.each([undefined, '', ' ', '.', '..', '/', '\\', '../..', '\u202e', 'a/..'])('names %j "recording"', (raw) => {
    expect(cleanFilename(raw)).toBe('recording');
  });

  it('cuts at 255 code points and keeps the extension', () => {
    expect(cleanFilename(`${'a'.repeat(300)}.wav`)).toBe(`${'a'.repeat(251)}.wav`);
    expect(cleanFilename(`${'🎙'.repeat(300)}.webm`)).toBe(`${'🎙'.repeat(250)}.webm`);
    expect(cleanFilename('🎙'.repeat(255))).toBe('🎙'.repeat(255));
  });

  it('cuts a name without a real extension at its end', () => {
    expect(cleanFilename('a'.repeat(300))).toBe('a'.repeat(255));
    expect(cleanFilename(`${'a'.repeat(200)}.${'b'.repeat(200)}`)).toBe(`${'a'.repeat(200)}.${'b'.repeat(54)}`);
    expect(cleanFilename(`.${'a'.repeat(300)}`)).toBe(`.${'a'.repeat(254)}`);
  });

  it('leaves no space at the end of what it cuts', () => {
    expect(cleanFilename(`${'a'.repeat(254)} b`)).toBe('a'.repeat(254));
    expect(cleanFilename(`.${' '.repeat(254)}b`)).toBe('recording');
  });

  it('cleans any name, and does not change a clean one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (raw) => {
        const name = cleanFilename(raw);
        const length = Array.from(name).length;
        expect(length).toBeGreaterThan(0);
        expect(length).toBeLessThanOrEqual(255);
        expect(name).not.toMatch(/^\.{1,2}$|[/\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(cleanFilename(name)).toBe(name);
      }),
    );
  });
});
