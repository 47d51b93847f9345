import { Argument, type Command, Option } from 'commander';
import { TRIGGER_KINDS } from '../../events/event-types.js';
import { day, integer, list, speakers, tag } from '../options/parsers.js';
import { examples, runAction } from './run-action.js';

const STATUSES = ['processing', 'transcribed', 'failed'];
const FORMATS = ['text', 'srt', 'vtt', 'rttm', 'json'];
const MAX_SECONDS = 7200;
const DAYS = integer(1, 3650);

export function addRecordingCommands(program: Command): void {
  addUpload(program);
  addRecord(program);
  addList(program);
  addSearch(program);
  addGet(program);
  addWatch(program);
  addTrigger(program);
  addEdit(program);
  addHold(program);
  program
    .command('delete <id...>')
    .description('delete recordings with their audio and text, for ever')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', examples('vnotes delete 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e'))
    .action(runAction(async () => (await import('../commands/delete.js')).deleteRecordings));
}

function addUpload(program: Command): void {
  const command = program
    .command('upload <file...>')
    .description('upload voice notes; what an interrupted run has uploaded is not uploaded again');
  addUploadOptions(command)
    .option('--jobs <number>', 'uploads at the same time', integer(1, 8), 2)
    .option('--again', 'upload files once more that were uploaded before')
    .option('--filename <name>', 'name of the recording, for one file or standard input')
    .addHelpText(
      'after',
      `\nA file of - is standard input. The service itself fetches an https link.\n${examples(
        'vnotes upload note.ogg --wait',
        'vnotes upload https://files.example.com/note.ogg --wait',
        'vnotes upload calls/*.mp3 --tag team=sales --format srt --out subtitles',
        'ffmpeg -i film.mkv -f wav -ac 1 -ar 16000 - | vnotes upload - --filename film.wav --format vtt > film.vtt',
      )}`,
    )
    .action(runAction(async () => (await import('../commands/upload.js')).uploadFiles));
}

function addRecord(program: Command): void {
  const command = program
    .command('record')
    .description('record with the microphone until Enter or Ctrl-C, then upload; needs arecord, sox or ffmpeg');
  addUploadOptions(command)
    .option('--seconds <number>', 'stop by itself after this time', integer(1, MAX_SECONDS))
    .option('--device <name>', 'microphone, as the recording program names it')
    .option('--keep <file>', 'also keep the audio in this file')
    .addHelpText(
      'after',
      examples('vnotes record --wait', 'vnotes record --seconds 30 --tag kind=memo --keep memo.wav'),
    )
    .action(runAction(async () => (await import('../commands/record.js')).record));
}

function addUploadOptions(command: Command): Command {
  return command
    .option('-w, --wait', 'wait for the transcription and print it')
    .addOption(new Option('-f, --format <format>', 'form of the transcription; implies --wait').choices(FORMATS))
    .option('-o, --out <folder>', 'write each transcription into a file of this folder; implies --wait')
    .option('-t, --tag <key=value>', 'tag of the recording, repeated for more', tag)
    .option('-l, --language <name>', 'language spoken, such as english (default: detected)')
    .option('--languages <names>', 'languages spoken, such as english,german; in place of --language', list)
    .option('--vocabulary <words>', 'names and words to expect, separated by commas', list)
    .addOption(
      new Option('--channels <mode>', 'transcribe each of two channels on its own').choices(['mixed', 'separate']),
    )
    .option(
      '--speakers <number>',
      'tell speakers apart: their number, or auto (default: as the account says)',
      speakers,
    )
    .option('--retain-audio-days <days>', 'delete the audio after this time (default: as the account says)', DAYS)
    .option('--retain-text-days <days>', 'delete all of it after this time (default: as the account says)', DAYS)
    .addOption(
      new Option('--delete-audio-after <state>', 'delete the audio once it is transcribed').choices(['transcribed']),
    );
}

const ORDERS = ['newest', 'oldest', 'longest', 'shortest'];

function addList(program: Command): void {
  addFilters(
    program
      .command('list')
      .alias('ls')
      .description('list recordings, the newest first')
      .addOption(new Option('--order <order>', 'which come first').choices(ORDERS)),
  )
    .addHelpText(
      'after',
      examples(
        'vnotes list --status failed --from 7d',
        'vnotes list --order longest',
        'vnotes list --all --json | jq -r .id',
      ),
    )
    .action(runAction(async () => (await import('../commands/list.js')).listRecordings));
}

function addSearch(program: Command): void {
  addFilters(
    program
      .command('search <words...>')
      .description('find recordings by the words of their text, title and tags')
      .addOption(new Option('--order <order>', 'which come first; rank: the best').choices([...ORDERS, 'rank'])),
  )
    .addHelpText(
      'after',
      `\nAll words must occur; the last may be the beginning of one. "a phrase", or between alternatives, -word to exclude one (after --).\n${examples(
        'vnotes search invoice',
        `vnotes search '"ten meters" or yards' --order rank`,
      )}`,
    )
    .action(runAction(async () => (await import('../commands/list.js')).searchRecordings));
}

function addFilters(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .option('--from <day>', 'uploaded on this UTC day or later: 2026-01-31, today, 7d', day)
    .option('--to <day>', 'uploaded on this UTC day or earlier', day)
    .option('--user <id>', 'of this end user')
    .option('-t, --tag <key=value>', 'with this tag, repeated for more', tag)
    .option('-n, --limit <number>', 'results on a page', integer(1, 100), 20)
    .option('--page <number>', 'page, from 0', integer(0, 1_000_000_000))
    .option('-a, --all', 'all pages; with --json a recording on each line');
}

function addGet(program: Command): void {
  program
    .command('get <id>')
    .description('show a recording and its text, or only the text in a format, or fetch the audio')
    .addOption(new Option('-f, --format <format>', 'only the transcription, in this form').choices(FORMATS))
    .option('--audio <file>', 'write the audio into this file, - for standard output')
    .option('-o, --out <file>', 'write the transcription into this file')
    .option('--original', 'what was heard, also if the text was corrected')
    .option('-w, --wait', 'wait until it is transcribed')
    .addHelpText(
      'after',
      examples(
        'vnotes get 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e',
        'vnotes get 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e --format srt > note.srt',
      ),
    )
    .action(runAction(async () => (await import('../commands/get.js')).getRecording));
}

function addEdit(program: Command): void {
  program
    .command('edit <id>')
    .description('give a recording a title, or other tags')
    .option('--title <text>', 'what to call it')
    .option('--no-title', 'call it as its file')
    .option('-t, --tag <key=value>', 'tag in place of those that it has, repeated for more', tag)
    .option('--no-tags', 'remove its tags')
    .addHelpText(
      'after',
      examples('vnotes edit 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e --title "Call with Ada" --tag ticket=T-1042'),
    )
    .action(runAction(async () => (await import('../commands/edit.js')).editRecording));
}

function addHold(program: Command): void {
  program
    .command('hold <id>')
    .description('keep a recording: nothing of it is deleted until the hold is released')
    .option('--reason <text>', 'why, for those who want to delete it')
    .option('--release', 'release the hold')
    .addHelpText(
      'after',
      examples(
        'vnotes hold 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e --reason "Complaint C-1042"',
        'vnotes hold 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e --release',
      ),
    )
    .action(runAction(async () => (await import('../commands/hold.js')).holdRecording));
}

function addWatch(program: Command): void {
  program
    .command('watch')
    .description('print what happens to recordings as it happens, until Ctrl-C')
    .option(
      '--after <sequence>',
      'begin behind this event instead of now; 0 for all that are kept',
      integer(0, 2 ** 53),
    )
    .option('--text', 'print the text of what is transcribed')
    .option('--count <number>', 'end after so many events', integer(1, 1_000_000))
    .addHelpText('after', examples('vnotes watch --text', 'vnotes watch --json | jq -r .event'))
    .action(runAction(async () => (await import('../commands/watch.js')).watch));
}

function addTrigger(program: Command): void {
  program
    .command('trigger')
    .addArgument(new Argument('<event>', 'kind of the event').choices(TRIGGER_KINDS))
    .description('with a test key: make an event happen, for you and your webhooks, and print it')
    .option('--file <name>', 'name of the file to upload, such as failed-codec, which decides what happens')
    .addHelpText(
      'after',
      examples('vnotes trigger recording.failed', 'vnotes trigger recording.failed --file failed-codec'),
    )
    .action(runAction(async () => (await import('../commands/trigger.js')).trigger));
}
