import { acceptedFormat, CONTENT_TYPES, TRANSCRIPTION_FORMATS } from './transcription-format.js';

describe('acceptedFormat', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/xml', 'json'],
    ['text/plain', 'text'],
    ['text/vtt', 'vtt'],
    ['text/srt', 'srt'],
    ['application/srt', 'srt'],
    ['application/x-subrip', 'srt'],
    ['TEXT/VTT; charset=utf-8', 'vtt'],
    ['text/*', 'text'],
    ['text/vtt, text/plain', 'text'],
    ['text/plain, application/json', 'json'],
    ['text/vtt;q=0.9, text/plain;q=0.8', 'vtt'],
    ['text/vtt; q=0.9; level=1, text/plain;q=0.8', 'vtt'],
    // The quality of the most specific range counts, and of several the best.
    ['text/plain;q=0, text/*', 'vtt'],
    ['text/*;q=1, text/plain;q=0.1, application/json;q=0.5', 'vtt'],
    ['text/vtt;q=0.2, application/json;q=0.5, text/vtt;q=0.7', 'vtt'],
    ['text/vtt;q=0.7, application/json;q=0.5, text/vtt;q=0.2', 'vtt'],
    ['*/*;q=0.1, application/json;q=0', 'text'],
    ['application/json;q=0', 'json'],
    // No quality is greater than 1, and what is none counts as 1.
    ['text/vtt;q=1.5, text/plain', 'text'],
    ['text/plain;q=0.9999, text/vtt;q=0.5', 'text'],
    ['text/vtt;x=",", application/json;q=0.5', 'vtt'],
    [', ,;;, "', 'json'],
  ])('of %j is %s', (header, format) => {
    expect(acceptedFormat(header)).toBe(format);
  });

  it('has a type in UTF-8 for each form', () => {
    expect(TRANSCRIPTION_FORMATS.map((format) => CONTENT_TYPES[format])).toEqual([
      'application/json; charset=utf-8',
      'text/plain; charset=utf-8',
      'application/x-subrip; charset=utf-8',
      'text/vtt; charset=utf-8',
      'text/plain; charset=utf-8',
      'text/plain; charset=utf-8',
    ]);
  });
});
