import { validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { contentDisposition } from './content-disposition.js';

/** The grammar of RFC 6266 as far as it is used here. */
const GRAMMAR =
  /^(attachment|inline); filename="([ !#$&'()+,\-.0-9=@A-Z[\]^_`a-z{}~]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/;

describe('Content-Disposition (RFC 6266, RFC 8187)', () => {
  it.each([
    ['note.wav', `attachment; filename="note.wav"; filename*=UTF-8''note.wav`],
    ['a b.wav', `attachment; filename="a b.wav"; filename*=UTF-8''a%20b.wav`],
    ['Grüße €.mp3', `attachment; filename="Gr__e _.mp3"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%E2%82%AC.mp3`],
    [
      '"; filename=evil.exe',
      `attachment; filename="__ filename=evil.exe"; filename*=UTF-8''%22%3B%20filename%3Devil.exe`,
    ],
    ['..\\..\\%2e%2e/x', `attachment; filename=".._..__2e_2e_x"; filename*=UTF-8''..%5C..%5C%252e%252e%2Fx`],
    ["o'clock*.ogg", `attachment; filename="o'clock_.ogg"; filename*=UTF-8''o%27clock%2A.ogg`],
    ['👋.webm', `attachment; filename="_.webm"; filename*=UTF-8''%F0%9F%91%8B.webm`],
  ])('of %s', (name, expected) => {
    expect(contentDisposition('attachment', name)).toBe(expected);
  });

  it('of any name is a valid header, keeps to the grammar and gives the name back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (name) => {
        const header = contentDisposition('inline', name);
        expect(() => validateHeaderValue('Content-Disposition', header)).not.toThrow();
        const [, , , encoded = ''] = GRAMMAR.exec(header) ?? ['', '', '', header];
        expect(decodeURIComponent(encoded)).toBe(name.toWellFormed());
      }),
    );
  });
});
