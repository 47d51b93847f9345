import { Command } from 'commander';
import type { Extension } from '../../extension.js';
import { count } from '../admin/option-parsers.js';
import type { AccuracyOptions } from './accuracy-commands.js';
import type { SpeakersOptions } from './speakers-command.js';

const HOUR_MS = 3_600_000;

/** Reads the arguments of the process and measures what they ask for, with the engines of extensions. */
export async function runAccuracy(extensions: Extension[]): Promise<void> {
  const alive = setInterval(() => undefined, HOUR_MS);
  try {
    await accuracyProgram(extensions).parseAsync();
    // Engines keep no process alive while they are idle.
    clearInterval(alive);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}

/** The engines are imported only after the arguments were parsed, so that help is quick. */
function accuracyProgram(extensions: Extension[]): Command {
  const program = new Command('accuracy')
    .description(
      'Measure word errors, speed and confidence of an engine on recordings of which the text is known.\n' +
        'FOLDER/manifest.json: [{ "file": "note.wav", "ref": "what is said", "lang": "english" }],\n' +
        'or FOLDER is a part of LibriSpeech as it is unpacked, such as LibriSpeech/test-clean.\n' +
        'English is judged by the rules of docs/accuracy.md and by those of the Open ASR Leaderboard.',
    )
    .usage(
      '--engine NAME FOLDER\n       accuracy --compare NAME[:MODEL] NAME[:MODEL] FOLDER\n' +
        '       accuracy --compare RESULT.json RESULT.json\n       accuracy --fit RESULT.json\n       accuracy speakers FOLDER',
    )
    .argument('<paths...>')
    .option('--engine <name>', 'the engine; as in TRANSCRIPTION_ENGINE')
    .option('--model <name>', 'another model of the engine')
    .option('--compare', 'compare two engines, or two results that were saved')
    .option('--fit', 'fit the mapping of confidences to a result of --raw')
    .option('--raw', 'take the confidences of the engine without the mapping of the service')
    .option('--limit <number>', 'only the first recordings', count)
    .option('--sample <number>', 'only so many recordings, from all over the set', count)
    .option('--jobs <number>', 'recordings at the same time (default: as many as the engine has slots)', count)
    .option('--out <folder>', 'where results are saved', '.data/accuracy')
    .option('--json', 'print one JSON value and nothing else')
    .showHelpAfterError()
    .action(async (paths: string[], options: AccuracyOptions) => {
      const { runCommand } = await import('./accuracy-commands.js');
      await runCommand(paths, options, extensions);
    });
  // Options of both would otherwise be those of the first alone.
  program.enablePositionalOptions().addCommand(speakersCommand());
  return program;
}

function speakersCommand(): Command {
  return new Command('speakers')
    .description(
      'Measure the diarization error rate: of the recordings of a folder, each with an RTTM of its name beside it, or of\n' +
        'one file in the form RTTM against another.',
    )
    .usage('FOLDER\n       accuracy speakers REFERENCE.rttm HEARD.rttm')
    .argument('<paths...>')
    .option('--known', 'give the diarizer the number of speakers in the reference')
    .option('--threshold <hundredths>', 'in place of SPEAKER_THRESHOLD', count)
    .option('--out <folder>', 'where the RTTM of what was heard is saved', '.data/accuracy')
    .option('--json', 'print one JSON value and nothing else')
    .showHelpAfterError()
    .action(async (paths: string[], options: SpeakersOptions) => {
      const { runSpeakers } = await import('./speakers-command.js');
      await runSpeakers(paths, options);
    });
}
