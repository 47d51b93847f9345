import { type ServerSentEvent, SseParser } from './sse-parser.js';

const TEXT =
  '\uFEFFretry: 1275\r\nid: 17\r\n\r\n:\n\nid: 18\nevent: recording.transcribed\ndata: {"ort":"Köln 🎙"}\n\nid: 19\revent: b\rdata: 1\rdata:2\r\rdata: unfinished';
const EXPECTED: ServerSentEvent[] = [
  { id: '17', event: '', data: null },
  { id: '17', event: '', data: null },
  { id: '18', event: 'recording.transcribed', data: '{"ort":"Köln 🎙"}' },
  { id: '19', event: 'b', data: '1\n2' },
];

describe('SseParser', () => {
  const bytes = new TextEncoder().encode(TEXT);

  it.each([1, 2, 3, 5, 7, 64, bytes.length])('reads the same from pieces of %i bytes', (size) => {
    const parser = new SseParser();
    const messages: ServerSentEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) messages.push(...parser.push(bytes.subarray(at, at + size)));
    expect(messages).toEqual(EXPECTED);
    expect(parser.retryMs).toBe(1275);
  });

  it('ignores what the standard does: unknown fields, an id with NUL, a retry that is no number', () => {
    const parser = new SseParser();
    const messages = parser.push(new TextEncoder().encode('id: 1\n\nid: \0\nretry: soon\nother: x\ndata\n\n'));
    expect(messages.at(-1)).toEqual({ id: '1', event: '', data: '' });
    expect(parser.retryMs).toBeNull();
  });
});
