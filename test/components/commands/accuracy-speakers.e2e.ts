import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { formatRttm } from '../../../src/commands/accuracy/rttm.js';
import { wav } from '../../support/audio/audio-bytes.js';
import {
  type Turn,
  voicesPcm,
  writeEmbeddingModel,
  writeSegmentationModel,
} from '../../support/models/voice-models.js';
import { runBuilt } from '../../support/service/cli.js';

/** A command starts in a second, and in several on a busy machine. */
jest.setTimeout(120_000);

describe('npm run accuracy -- speakers', () => {
  let root: string;

  beforeAll(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'accuracy-speakers-'));
    await writeSegmentationModel(path.join(root, 'segments'));
    await writeEmbeddingModel(path.join(root, 'voices'));
  });
  afterAll(() => rm(root, { recursive: true }));

  const speakers = (...args: string[]) =>
    runBuilt(
      {
        variables: {
          NODE_ENV: 'test',
          MODELS_FOLDER: root,
          SPEAKER_SEGMENTATION_MODEL: 'segments',
          SPEAKER_EMBEDDING_MODEL: 'voices',
        },
      },
      'dist/commands/accuracy.js',
      'speakers',
      ...args,
    );

  /** A recording of 40 s and its reference; the people speak in turns, and twice at the same time. */
  async function writeDialogue(name: string, people: readonly number[]): Promise<void> {
    const turns = Array.from({ length: 8 }, (_, index): Turn => {
      const start = 5 * index + 0.5;
      return { person: people[index % people.length] ?? 0, start, end: start + (index % 3 === 2 ? 5 : 4) };
    });
    const said = turns.map(({ person, start, end }) => ({ speaker: `P${person}`, start, end: Math.min(end, 40) }));
    await writeFile(path.join(root, `${name}.wav`), wav({ data: voicesPcm(turns, 40) }));
    await writeFile(path.join(root, `${name}.rttm`), formatRttm(name, said));
  }

  it('runs the diarizer over recordings, and counts its errors with and without a collar', async () => {
    await writeDialogue('pair', [0, 1]);
    await writeDialogue('three', [2, 0, 1]);
    const out = path.join(root, 'out');
    const { code, stdout } = await speakers(root, '--out', out, '--json');
    expect(code).toBe(0);
    const { model, collars, recordings, rates } = JSON.parse(stdout);
    expect({ model, collars }).toEqual({ model: 'segments + voices', collars: [0, 0.25] });
    expect(recordings).toMatchObject([
      { recording: 'pair', speakers: 2, found: 2 },
      { recording: 'three', speakers: 3, found: 3 },
    ]);
    // Frames of 17 ms; near the begin and end of a turn nothing counts with the collar.
    expect(rates[0]).toBeLessThan(0.05);
    expect(rates[1]).toBeLessThan(0.01);
    const again = await speakers(path.join(root, 'pair.rttm'), path.join(out, 'pair.rttm'), '--json');
    expect(JSON.parse(again.stdout).recordings[0].errors[0].speech).toBeCloseTo(recordings[0].errors[0].speech, 2);
    expect(await readFile(path.join(out, 'three.rttm'), 'utf8')).toMatch(/^SPEAKER three 1 0\.5\d\d /);
    const table = await speakers(path.join(root, 'pair.rttm'), path.join(root, 'pair.rttm'));
    expect(table.stdout).toMatch(/pair +2 of 2 +0\.00 %/);
  });

  it('says what it needs', async () => {
    const none = await speakers(path.join(root, 'segments'));
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('has no recording with an .rttm') });
    expect(await speakers('a', 'b', 'c')).toMatchObject({ code: 1, stderr: expect.stringContaining('Give a folder') });
  });
});
