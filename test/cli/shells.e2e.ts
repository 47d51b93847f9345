import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { BuiltVnotes } from '../support/cli/vnotes.js';

/** Where there is no zsh its completion is not tested. ZSH names another one. */
const ZSH =
  process.env.ZSH ??
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'zsh'))
    .find(existsSync);
const execute = promisify(execFile);

describe('vnotes completion', () => {
  const vnotes = BuiltVnotes.use();

  it.each([
    ['we', 'webhooks'],
    ['webhooks li', 'list listen'],
    ['webhooks listen --p', '--port --public-url --profile'],
    ['list --status ', 'processing transcribed failed'],
    ['--profile work key', 'keys'],
    ['upload --tag a=b --format ', 'text srt vtt json'],
    ['completion z', 'zsh'],
    ['upload note', ''],
  ])('bash completes "vnotes %s" with "%s"', async (typed, expected) => {
    const script = `source <("$0" "$1" completion bash); COMP_WORDS=(vnotes ${typed.endsWith(' ') ? `${typed} ''` : typed})
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _vnotes; echo "\${COMPREPLY[*]}"`;
    const { stdout } = await execute('bash', ['--norc', '-c', script, process.execPath, vnotes.program]);
    expect(stdout).toBe(`${expected}\n`);
  });

  it('bash completes what is typed on a terminal', async () => {
    const user = await vnotes.user();
    await writeFile(join(user.home, 'meeting.ogg'), '');
    const { stdout } = await user.onTerminal('export PS1="READY "; bash --norc --noprofile -i', [
      [/READY /, 'source <("$NODE" "$VNOTES" completion bash); echo DO"NE"\n'],
      [/DONE\s+READY /, 'echo vnotes; vnotes() { echo "got: $*"; }\n'],
      [/vnotes\s+READY /, 'vnotes upl\tmee\t--wa\t\n'],
      [/got: /, 'exit\n'],
    ]);
    expect(stdout).toContain('got: upload meeting.ogg --wait');
  });

  (ZSH ? it : it.skip)('zsh completes what is typed on a terminal', async () => {
    const user = await vnotes.user();
    await mkdir(join(user.home, 'zsh'));
    const functions = process.env.ZSH_FUNCTIONS ? `fpath=(${process.env.ZSH_FUNCTIONS}); ` : '';
    const modules = process.env.ZSH_MODULES ? `module_path=(${process.env.ZSH_MODULES}); ` : '';
    const setup = `${modules}${functions}autoload -Uz compinit; compinit -D -u; PS1='READY '; source <("$NODE" "$VNOTES" completion zsh)\nvnotes() { echo "got: $*" }\n`;
    await writeFile(join(user.home, 'zsh', '.zshrc'), setup);
    const { stdout } = await user.onTerminal(`export TERM=dumb ZDOTDIR="$HOME/zsh"; "${ZSH}" -i`, [
      [/READY /, 'vnotes webh\tliste\t--public\thttp://x --ev\ty\n'],
      [/got: /, 'vnotes list --status trans\t\n'],
      [/got: list/, 'exit\n'],
    ]);
    expect(stdout).toContain('got: webhooks listen --public-url http://x --events y');
    expect(stdout).toContain('got: list --status transcribed');
  });
});
