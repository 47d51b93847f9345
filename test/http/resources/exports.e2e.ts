import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { expectError, expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { TRANSCRIPTION } from '../../support/http/response-shapes.js';
import { transcribe, upload } from '../../support/state/recording-states.js';

const SPOKEN = [
  { word: 'go', start: 0.46, end: 0.63, confidence: 0.97 },
  { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
  { word: 'now', start: 3.5, end: 3.9, confidence: null },
];
const of = (id: string): string => `/v1/recordings/${id}/transcription`;

describe('a transcription in other forms (D42)', () => {
  let client: ApiClient;
  let path: string;

  const service = useService({ ROLES: 'api' });

  const transcribed = async (text: string, more: object = {}): Promise<string> => {
    const id = await upload(client);
    await transcribe(service, id, { text, durationMs: 4000, ...more });
    return of(id);
  };

  beforeAll(async () => {
    client = await service.account();
    path = await transcribed('Go forward. Now!', { words: SPOKEN });
  });

  const SRT = '1\n00:00:00,460 --> 00:00:01,460\nGo forward.\n\n2\n00:00:03,500 --> 00:00:04,500\nNow!\n';
  const VTT = 'WEBVTT\n\n00:00:00.460 --> 00:00:01.460\nGo forward.\n\n00:00:03.500 --> 00:00:04.500\nNow!\n';

  it.each([
    ['text', 'text/plain; charset=utf-8', 'Go forward. Now!'],
    ['srt', 'application/x-subrip; charset=utf-8', SRT],
    ['vtt', 'text/vtt; charset=utf-8', VTT],
    ['paragraphs', 'text/plain; charset=utf-8', 'Go forward.\n\nNow!'],
  ])('is %s as asked, with its type and length', async (format, type, expected) => {
    const answer = await client.get(`${path}?format=${format}`).buffer(true).expect(200);

    expect(Buffer.isBuffer(answer.body) ? answer.body.toString() : answer.text).toBe(expected);
    expect(answer.headers).toMatchObject({
      'content-type': type,
      'content-length': String(Buffer.byteLength(expected)),
      vary: 'Accept',
      'transcription-version': 'original',
      'cache-control': 'no-store',
    });
    expectHeaders(answer);
  });

  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['text/plain, application/json', 'application/json'],
    ['application/xml', 'application/json'],
    ['text/vtt', 'text/vtt'],
    ['text/vtt;q=0.5, application/x-subrip;q=0.8, */*;q=0.1', 'application/x-subrip'],
    ['TEXT/SRT', 'application/x-subrip'],
    ['text/*', 'text/plain'],
    ['text/plain;q=0, text/*', 'text/vtt'],
    ['application/json;q=0.2, text/plain;q=0.3', 'text/plain'],
    ['text/vtt;q=nonsense, ,;;, "', 'text/vtt'],
  ])('for Accept: %s is sent as %s', async (accept, type) => {
    const request = client.get(path);
    const answer = await (accept === undefined ? request : request.set('Accept', accept)).expect(200);
    expect(answer.headers['content-type']).toBe(`${type}; charset=utf-8`);
    expect(answer.headers.vary).toBe('Accept');
    if (type === 'application/json') expect(answer.body).toStrictEqual({ ...TRANSCRIPTION, text: 'Go forward. Now!' });
  });

  it('asks the parameter before the header, and names one that it does not know', async () => {
    const answer = await client.get(`${path}?format=json`).set('Accept', 'text/vtt').expect(200);
    expect(answer.body).toStrictEqual(TRANSCRIPTION);
    expectInvalid(await client.get(`${path}?format=docx`), 'format', /json, text, srt, vtt or paragraphs/);
    expectInvalid(await client.get(`${path}?format=srt&format=vtt`), 'format', /only once/);
    expectInvalid(await client.get(`${path}?version=2`), 'version', /current or original/);
  });

  it('has the errors of the transcription in every form', async () => {
    const processing = of(await upload(client));
    const { body } = await client.get(`${processing}?format=vtt`).expect(404);
    expect(body.error.code).toBe('TRANSCRIPTION_NOT_READY');
    expectError(await client.get(`${of('019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f')}?format=srt`), 'NotFoundError');
  });

  it('has valid subtitles without word times, without speech, and with markup in the text', async () => {
    const [untimed, silent, markup] = await Promise.all([
      transcribed('one two three four', { words: [] }),
      transcribed('', { noSpeech: true }),
      transcribed('<b>A</b> & B --> C', { words: [] }),
    ]);
    const read = async (target: string, format: string) =>
      (await client.get(`${target}?format=${format}`).buffer(true)).text;
    expect(await read(untimed, 'vtt')).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:04.000\none two three four\n');
    expect([await read(silent, 'vtt'), await read(silent, 'text')]).toEqual(['WEBVTT\n', '']);
    expect(await read(markup, 'vtt')).toContain('&lt;b&gt;A&lt;/b&gt; &amp; B --&gt; C');
  });

  it('is 304 for the tag that it has, in each form its own, and sent for any other', async () => {
    const tags = await Promise.all(
      ['json', 'text', 'srt', 'vtt', 'paragraphs'].map(async (format) => {
        const { headers } = await client.get(`${path}?format=${format}`).expect(200);
        const tag = headers.etag as string;
        expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
        const same = await client.get(`${path}?format=${format}`).set('If-None-Match', `"x", W/${tag}`);
        expect([same.status, same.text, same.headers.etag]).toEqual([304, '', tag]);
        expect(same.headers['content-length'] ?? '0').toBe('0');
        expectHeaders(same);
        return tag;
      }),
    );
    expect(new Set(tags).size).toBe(5);
    await client
      .get(`${path}?format=vtt`)
      .set('If-None-Match', tags[0] as string)
      .expect(200);
    await client.get(path).set('If-None-Match', 'no tag').expect(200);
    await client.get(path).set('If-None-Match', '*').expect(304);
  });
});
