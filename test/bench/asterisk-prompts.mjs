/**
 * Makes a folder for `npm run accuracy` of the voice prompts in Debian's packages asterisk-core-sounds-*:
 *
 *   apt-get install asterisk-core-sounds-en asterisk-core-sounds-en-g722
 *   node test/bench/asterisk-prompts.mjs FOLDER [--parts 2]
 *
 * Professional recordings of Allison Smith, CC BY-SA 3.0. The 16 kHz G.722 of the package becomes WAV. Prompts that are
 * sounds, single letters or names of what is spelled are left out, and so are those with less than two words. With
 * `--parts` the prompts are dealt to so many folders, one for fitting and one for testing.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

const SOUNDS = '/usr/share/asterisk/sounds/en_US_f_Allison';
const TEXTS = '/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz';
const MIN_WORDS = 2;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { parts: { type: 'string' } } });
const [folder] = positionals;
if (!folder) throw new Error('usage: node test/bench/asterisk-prompts.mjs FOLDER [--parts NUMBER]');
const parts = Number(values.parts ?? 1);

const prompts = gunzipSync(readFileSync(TEXTS))
  .toString('utf8')
  .split('\n')
  .flatMap((line) => {
    const [, name, ref] = /^([\w/-]+): (.+)$/.exec(line) ?? [];
    const isSpoken = ref && !/[[\](){}<>]/.test(ref) && ref.split(/\s+/).length >= MIN_WORDS;
    return isSpoken && existsSync(join(SOUNDS, `${name}.g722`)) ? { name, ref: ref.replace(/\s+/g, ' ').trim() } : [];
  });

const folders = Array.from({ length: parts }, (_, part) => (parts === 1 ? folder : join(folder, String(part + 1))));
for (const [part, target] of folders.entries()) {
  mkdirSync(target, { recursive: true });
  const entries = prompts.filter((_, index) => index % parts === part).map((prompt) => convert(prompt, target));
  writeFileSync(join(target, 'manifest.json'), `${JSON.stringify(entries, null, 1)}\n`);
  console.log(`${target}: ${entries.length} prompts`);
}

function convert({ name, ref }, target) {
  const file = `${name.replaceAll('/', '-')}.wav`;
  const input = ['-f', 'g722', '-i', join(SOUNDS, `${name}.g722`)];
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...input, '-c:a', 'pcm_s16le', join(target, file)]);
  return { file, ref, lang: 'english' };
}
