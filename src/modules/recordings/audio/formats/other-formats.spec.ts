import { FileWindow } from './file-window.js';
import { unsupportedFormat } from './other-formats.js';

function reasonFor(bytes: Buffer): Promise<string> {
  const file = {
    read: async (buffer: Buffer, offset: number, length: number, position: number) => ({
      bytesRead: bytes.copy(buffer, offset, position, position + length),
    }),
  };
  return unsupportedFormat(new FileWindow(file, bytes.length), ['webm', 'mp3', 'ogg', 'wav'], null);
}

describe('unsupportedFormat', () => {
  it.each([
    ['HEIF', Buffer.from('\0\0\0\x20ftypheic\0\0\0\0', 'latin1')],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['PDF', Buffer.from('%PDF-1.7\n', 'latin1')],
    ['ZIP', Buffer.from('PK\x03\x04\x14\0', 'latin1')],
    ['text', Buffer.from('Dear customer,\nthank you for …')],
  ])('names %s', async (name, bytes) => {
    expect(await reasonFor(bytes)).toBe(`must be audio in webm, mp3, ogg or wav; this looks like ${name}`);
  });

  it('names a format that the operator does not accept', async () => {
    const file = new FileWindow({ read: async () => ({ bytesRead: 0 }) }, 0);
    expect(await unsupportedFormat(file, ['wav', 'm4a'], 'amr')).toBe('must be audio in wav or m4a; this is amr');
  });

  it.each([Buffer.alloc(0), Buffer.alloc(100), Buffer.from([1, 2, 3, 250])])('names nothing unknown', async (bytes) => {
    expect(await reasonFor(bytes)).toBe('must be audio in webm, mp3, ogg or wav');
  });
});
