import { PassThrough } from 'node:stream';
import { type ChildMessage, lineOf, receiveMessages } from './child-messages.js';

const TRANSCRIPT = { text: 'a b', confidence: 0.5, language: 'english', words: [] };
const WORD = { word: 'a', start: 0, end: 1.5, confidence: null };

/** What a child is understood to have sent, given the parts of its output. */
async function received(...parts: (string | Buffer)[]) {
  const stream = new PassThrough();
  const messages: ChildMessage[] = [];
  const broken: string[] = [];
  receiveMessages(stream, {
    message: (message) => messages.push(message),
    broken: (error) => broken.push(`${error.name}: ${error.message}`),
  });
  for (const part of parts) {
    stream.write(part);
    await new Promise(setImmediate);
  }
  return { messages, broken };
}

const lines = (...messages: unknown[]): string => messages.map((message) => `${JSON.stringify(message)}\n`).join('');

const transcriptWith = (changes: object) => ({ transcript: { ...TRANSCRIPT, ...changes } });

describe('receiveMessages', () => {
  it('reads one message a line, in order, however the output is split', async () => {
    const messages = [{ ready: true }, { transcript: TRANSCRIPT }, { problem: 'no model: Modèle' }];
    const bytes = Buffer.from(lines(...messages));
    const nothing: string[] = [];
    expect(await received(bytes)).toEqual({ messages, broken: nothing });
    expect(await received(...[...bytes].map((byte) => Buffer.of(byte)))).toEqual({ messages, broken: nothing });
    expect(await received(bytes.subarray(0, 20), bytes.subarray(20))).toEqual({ messages, broken: nothing });
  });

  it('waits for the end of a line', async () => {
    expect(await received('{"ready":true}')).toEqual({ messages: [], broken: [] });
  });

  it('takes no more from a message than belongs to it', async () => {
    const word = { ...WORD, speaker: 'x' };
    const sent = { transcript: { ...TRANSCRIPT, words: [word], extra: 1 }, other: 2 };
    const messages = [{ ready: true }, { transcript: { ...TRANSCRIPT, words: [WORD] } }];
    expect(await received(lines({ ready: true, extra: 1 }, sent))).toEqual({ messages, broken: [] });
  });

  it('reads the speakers that a child has heard', async () => {
    const segments = [
      { start: 0.5, end: 4, speaker: 0 },
      { start: 3, end: 7200.001, speaker: 19 },
    ];
    const message = { speakers: { segments, residentBytes: 123 } };
    expect(lineOf(message)).toBe('{"speakers":{"segments":[[0.5,4,0],[3,7200.001,19]],"residentBytes":123}}');
    expect(await received(`${lineOf(message)}\n`)).toEqual({ messages: [message], broken: [] });
  });

  it.each([
    [{ segments: 1, residentBytes: 1 }, 'segments must be a list'],
    [{ segments: [{}], residentBytes: 1 }, 'a segment must be a list'],
    [{ segments: [[-1, 2, 0]], residentBytes: 1 }, 'start must be a number of seconds'],
    [{ segments: [[1, null, 0]], residentBytes: 1 }, 'end must be a number of seconds'],
    [{ segments: [[1, 2, 0.5]], residentBytes: 1 }, 'a count must be a whole number'],
    [{ segments: [[1, 2, 1001]], residentBytes: 1 }, 'a count must be a whole number'],
    [{ segments: [] }, 'a count must be a whole number'],
  ])('refuses the speakers %j: %s', async (speakers, rule) => {
    expect(await received(lines({ speakers }))).toEqual({ messages: [], broken: [`ChildMessageError: ${rule}`] });
  });

  it('keeps the first 2000 characters of a problem', async () => {
    const { messages } = await received(lines({ problem: `${'x'.repeat(2000)}y` }));
    expect(messages).toEqual([{ problem: 'x'.repeat(2000) }]);
  });

  it.each([
    ['{', 'a message is not JSON'],
    ['', 'a message is not JSON'],
    ['null', 'a message must be an object'],
    ['[]', 'a message must be an object'],
    ['"ready"', 'a message must be an object'],
    ['{}', 'a message is of no known kind'],
    ['{"ready":1}', 'a message is of no known kind'],
    ['{"problem":null}', 'problem must be text'],
    ['{"transcript":null}', 'transcript must be an object'],
    ['{"transcript":[]}', 'transcript must be an object'],
  ])('refuses the line %j', async (line, message) => {
    expect(await received(`${line}\n`)).toEqual({ messages: [], broken: [`ChildMessageError: ${message}`] });
  });

  it.each<[object, string]>([
    [{ text: null }, 'text must be text'],
    [{ language: 1 }, 'language must be text'],
    [{ confidence: undefined }, 'confidence must be null or a number from 0 to 1'],
    [{ confidence: '1' }, 'confidence must be null or a number from 0 to 1'],
    [{ confidence: -0.01 }, 'confidence must be null or a number from 0 to 1'],
    [{ confidence: 1.01 }, 'confidence must be null or a number from 0 to 1'],
    [{ words: {} }, 'words must be a list of at most 4096'],
    [{ words: { length: 1 } }, 'words must be a list of at most 4096'],
    [{ words: [null] }, 'a word must be an object'],
    [{ words: [[]] }, 'a word must be an object'],
    [{ words: [{ ...WORD, word: 1 }] }, 'word must be text'],
    [{ words: [{ ...WORD, start: -0.01 }] }, 'start must be a number of seconds'],
    [{ words: [{ ...WORD, start: '0' }] }, 'start must be a number of seconds'],
    [{ words: [{ ...WORD, end: null }] }, 'end must be a number of seconds'],
    [{ words: [{ ...WORD, confidence: 2 }] }, 'confidence must be null or a number from 0 to 1'],
  ])('refuses a transcript with %j', async (changes, message) => {
    const { messages, broken } = await received(lines(transcriptWith(changes)));
    expect([messages, broken]).toEqual([[], [`ChildMessageError: ${message}`]]);
  });

  it('refuses a transcript of more than 4096 words', async () => {
    const { broken } = await received(lines(transcriptWith({ words: Array.from({ length: 4097 }, () => WORD) })));
    expect(broken).toEqual(['ChildMessageError: words must be a list of at most 4096']);
  });

  it('refuses infinite times', async () => {
    const line = lines(transcriptWith({ words: [WORD] })).replace('1.5', '1e999');
    expect((await received(line)).broken).toEqual(['ChildMessageError: end must be a number of seconds']);
  });

  it.each([
    [{ confidence: null }],
    [{ confidence: 0 }],
    [{ confidence: 1 }],
    [{ words: Array.from({ length: 4096 }, () => ({ ...WORD, end: 0, confidence: 1 })) }],
  ])('takes a transcript at a bound: %#', async (changes) => {
    const { messages, broken } = await received(lines(transcriptWith(changes)));
    expect([messages, broken]).toEqual([[transcriptWith(changes)], []]);
  });

  it('takes a line of 256 KiB, and refuses a longer one before it ends', async () => {
    const most = JSON.stringify({ problem: 'x'.repeat(256 * 1024 - '{"problem":""}'.length) });
    expect(most).toHaveLength(262_144);
    const { messages } = await received(most, '\n', most, '\n');
    expect(messages).toHaveLength(2);
    const refused = ['ChildMessageError: a message is longer than 262144 bytes'];
    expect(await received(most, 'x')).toEqual({ messages: [], broken: refused });
    expect(await received(`${most}x\n`)).toEqual({ messages: [], broken: refused });
  });

  it('reads nothing after a refused message, and reports the refusal once', async () => {
    const { messages, broken } = await received(lines({ ready: true }), 'garbage\nmore\n', lines({ ready: true }));
    expect(messages).toEqual([{ ready: true }]);
    expect(broken).toEqual(['ChildMessageError: a message is not JSON']);
  });

  it('drains the stream after a refusal, so that the child never waits for its reader', async () => {
    const stream = new PassThrough({ highWaterMark: 16 });
    receiveMessages(stream, { message: () => undefined, broken: () => undefined });
    stream.write('garbage\n');
    await new Promise(setImmediate);
    stream.write('x'.repeat(1000));
    await new Promise(setImmediate);
    expect(stream.readableLength).toBe(0);
  });
});
