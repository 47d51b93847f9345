import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeFailure } from './failure-reasons';

const SERVICE = join(process.cwd(), 'src/modules/transcriptions');

/** Each message of the service, with an example of what it fills in. */
const MESSAGES = [
  'Language not supported: german. Supported: english, spanish.',
  'The recording is longer than the maximum of 7200 seconds.',
  'The transcription server refused the audio as too large.',
  'The transcription server refused the audio',
  'The transcription server refused the audio: Invalid file format.',
  'The file takes too long to decode.',
  'The sample rate of 1 Hz is outside 4–192 kHz.',
  'The file has 12 channels; 1 to 8 can be decoded.',
  'The file contains aac, which is not a codec of wav files.',
  'The file contains no audio that can be decoded.',
  'The transcription was given up after 20 attempts.',
  'The audio is no longer in storage.',
  'The engine crashed 5 times on this recording.',
];

describe('the reason of a failure', () => {
  it.each(MESSAGES)('is told in other words: %s', (message) => {
    const { what, advice } = describeFailure(message);
    expect(what).not.toBe(message);
    expect(advice).not.toBe('');
    expect(describeFailure(`Transcribing again failed, and the present text stays: ${message}`).what).toBe(what);
  });

  it('is shown as it is when an extension has one of its own', () => {
    expect(describeFailure('The moon is full.').what).toBe('The moon is full.');
    expect(describeFailure('').what).toBe('The service gave no reason.');
  });

  it('names lengths and languages as people do', () => {
    expect(describeFailure(MESSAGES[1] as string).what).toBe('The recording is longer than 2 hours.');
    expect(describeFailure(MESSAGES[0] as string).advice).toContain('Supported: English, Spanish.');
  });

  it('is known for each place of the service that makes one', () => {
    const files = readdirSync(SERVICE, { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
    const made = sources.flatMap((file) => {
      const text = readFileSync(join(SERVICE, file), 'utf8');
      return [
        ...text.matchAll(
          /(?:AudioRejectedError\(|this\.fail\(|ObjectNotFoundError\) return )(?:lease, )?(['`])(.*?)\1/g,
        ),
      ].map(([, , message]) => message);
    });
    expect(made.length).toBeGreaterThan(8);
    const unknown = made.filter((message) => {
      const filled = (message as string).replace('${detail}', ': why').replace(/\$\{[^}]*\}+/g, '5');
      return describeFailure(filled).what === filled;
    });
    expect(unknown).toEqual([]);
  });
});
