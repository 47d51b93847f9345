import type { ChunkTranscript } from '../engines/transcription-engine.js';
import type { EngineRuntime } from '../engines/engine-runtimes.service.js';
import { chunkSeconds, transcribeAmong } from './language-choice.js';

const CANDIDATES = ['english', 'german', 'french'];

/** @param confidences by language; `-`: what the engine makes of a chunk without a language. */
function heardBy(confidences: Record<string, number | null>, detected: Partial<ChunkTranscript> = {}) {
  const asked: (string | null)[] = [];
  const recognise = (language: string | null): Promise<ChunkTranscript> => {
    asked.push(language);
    const confidence = confidences[language ?? '-'] ?? null;
    const transcript = { text: `text ${language}`, confidence, language: language ?? 'klingon', words: [] };
    return Promise.resolve({ ...transcript, ...(language === null && detected) });
  };
  return { asked, recognise };
}

const among = async (
  engine: { detectsLanguage?: boolean; ignoresLanguage?: boolean },
  { recognise }: ReturnType<typeof heardBy>,
) => await transcribeAmong(CANDIDATES, engine as never, recognise);

describe('transcribeAmong', () => {
  it('keeps the surest of all, if the engine detects no language', async () => {
    const heard = heardBy({ english: 0.4, german: 0.9, french: 0.8 });
    expect(await among({}, heard)).toMatchObject({ language: 'german', text: 'text german', confidence: 0.9 });
    expect(heard.asked).toEqual(CANDIDATES);
  });

  it('keeps the first of equals, also where the engine reports no confidence', async () => {
    expect(await among({}, heardBy({}))).toMatchObject({ language: 'english' });
    expect(await among({}, heardBy({ english: 0.1, german: 0.7, french: 0.7 }))).toMatchObject({ language: 'german' });
  });

  it('takes what was detected if it is in the list, and asks no more', async () => {
    const heard = heardBy({ '-': 0.1 }, { language: 'french', languageDetected: true });
    expect(await among({ detectsLanguage: true }, heard)).toMatchObject({ language: 'french' });
    expect(heard.asked).toEqual([null]);
  });

  it('tries all if another one was detected, or if the engine only assumes one', async () => {
    for (const detected of [{ language: 'dutch', languageDetected: true }, { language: 'english' }]) {
      const heard = heardBy({ '-': 1, english: 0.4, german: 0.5, french: 0.3 }, detected);
      expect(await among({ detectsLanguage: true }, heard)).toMatchObject({ language: 'german' });
      expect(heard.asked).toEqual([null, ...CANDIDATES]);
    }
  });

  it('takes any text rather than none, and asks no more where nobody speaks', async () => {
    const silent = heardBy({}, { text: ' ' });
    expect(await among({ detectsLanguage: true }, silent)).toMatchObject({ text: ' ' });
    expect(silent.asked).toEqual([null]);
    const recognise = (language: string | null) =>
      Promise.resolve({ text: language === 'french' ? 'oui' : '', confidence: 0, language: 'x', words: [] });
    expect(await transcribeAmong(CANDIDATES, {} as never, recognise)).toMatchObject({ language: 'french' });
  });

  it('asks an engine only once that makes the same of every language, and stays in the list', async () => {
    const heard = heardBy({ '-': 0.7 });
    expect(await among({ ignoresLanguage: true }, heard)).toMatchObject({ language: 'english', confidence: 0.7 });
    const other = heardBy({}, { language: 'dutch', languageDetected: true });
    expect(await among({ detectsLanguage: true, ignoresLanguage: true }, other)).toMatchObject({ language: 'english' });
    expect([heard.asked, other.asked]).toEqual([[null], [null]]);
  });
});

describe('chunkSeconds', () => {
  it('is at most 30 where a language is looked for', () => {
    const runtime = (maxChunkSeconds: number) => ({ maxChunkSeconds }) as EngineRuntime;
    expect([chunkSeconds(runtime(120), null), chunkSeconds(runtime(120), CANDIDATES)]).toEqual([120, 30]);
    expect(chunkSeconds(runtime(15), CANDIDATES)).toBe(15);
  });
});
