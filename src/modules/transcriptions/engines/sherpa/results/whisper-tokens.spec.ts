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
});
