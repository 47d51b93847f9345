import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { numberedTokens, WhisperTokens } from './whisper-tokens.js';

const HINDI = Buffer.from('है');
/** The second character in three tokens, the last token alone no character. */
const PIECES = [Buffer.from(' a'), Buffer.from(' '), ...[...HINDI].map((byte) => Buffer.of(byte)), Buffer.of(0xe0)];

describe('WhisperTokens', () => {
  let folder: string;
  let file: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'whisper-tokens-'));
    file = path.join(folder, 'tokens.txt');
    writeFileSync(file, PIECES.map((piece, index) => `${piece.toString('base64')} ${index + 10}\n`).join(''));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('numbers the tokens', () => {
    const [first] = numberedTokens(file).split('\n');
    const [base64 = '', id] = first?.split(' ') ?? [];
    expect([Buffer.from(base64, 'base64').toString(), id]).toEqual(['<10>', '10']);
  });

  it('puts characters together, with the time of their first token', () => {
    const tokens = PIECES.map((_, index) => `<${index + 10}>`);
    const text = tokens.join('');
    const result = {
      text,
      lang: 'hi',
      tokens,
      timestamps: tokens.map((_, index) => index),
      durations: tokens.map(() => 1),
      ys_log_probs: tokens.map((_, index) => -index),
      segment_texts: [text],
    };
    expect(new WhisperTokens(file).decode(result)).toEqual({
      text: ' a है',
      lang: 'hi',
      tokens: [' a', ' ', 'ह', 'ै', '\ufffd'],
      timestamps: [0, 1, 2, 5, 8],
      durations: [1, 1, 3, 3, 1],
      ys_log_probs: [-0, -1, -4, -7, -8],
      segment_texts: [' a है'],
    });
  });

  it.each([...'a\u0080\u00e9\u07ff\u0800\u20ac\uffff\u{10000}\u{1f600}\u{10ffff}'])(
    'puts %j together from single bytes, before another character and at the end',
    (character) => {
      const bytes = [...Buffer.from(`${character}z${character}`)];
      const all = path.join(folder, 'bytes.txt');
      writeFileSync(
        all,
        Array.from({ length: 256 }, (_, id) => `${Buffer.of(id).toString('base64')} ${id}\n`).join(''),
      );
      const tokens = bytes.map((byte) => `<${byte}>`);
      const { length } = Buffer.from(character);
      const decoded = new WhisperTokens(all).decode({
        text: tokens.join(''),
        lang: 'en',
        tokens,
        timestamps: tokens.map((_, index) => index),
        durations: [],
        ys_log_probs: [],
      });
      expect(decoded).toMatchObject({ text: `${character}z${character}`, tokens: [character, 'z', character] });
      expect([decoded.timestamps, decoded.durations, decoded.ys_log_probs]).toEqual([[0, length, length + 1], [], []]);
    },
  );

  it('leaves out tokens that the file does not have, and broken characters of the text', () => {
    const result = { lang: 'en', tokens: [], timestamps: [], durations: [], ys_log_probs: [] };
    expect(new WhisperTokens(file).decode({ ...result, text: '<15><10><99><15>' }).text).toBe(' a');
  });

  it('reads only lines of a token and its number', () => {
    const odd = path.join(folder, 'odd.txt');
    writeFileSync(odd, `YQ==  1 \n\nx YQ== 2\nYQ== 3 x\nYQ==\nYg== 4`);
    expect(numberedTokens(odd)).toBe('PDE+ 1\nPDQ+ 4\n');
  });
});
