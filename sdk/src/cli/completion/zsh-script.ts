import type { CommandWords, OptionWords } from './completion-words.js';

/** For a folder of `fpath`, as `_vnotes`, or to be sourced after compinit. */
export function zshScript(commands: CommandWords[]): string {
  return `#compdef vnotes
# Completion of vnotes for zsh. vnotes completion zsh > FOLDER_OF_FPATH/_vnotes, or source it after compinit.
_vnotes_at() {
  local -a commands
  case "$1" in
${commands.map(commandCase).join('\n')}
  esac
}
_vnotes() {
  local at= step name i
  for ((i = 2; i < CURRENT; i++)); do
    step=$words[i]
    name="\${at:+$at }$step"
    case "$name" in
      ${commands
        .filter(({ path }) => path !== '')
        .map(({ path }) => `'${path}'`)
        .join('|')}) at=$name; words=($words[1] $words[i+1,-1]); (( CURRENT -= i - 1 )); i=1 ;;
    esac
  done
  _vnotes_at "$at"
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _vnotes "$@"; else compdef _vnotes vnotes; fi
`;
}

function commandCase({ path, commands, options, takesFiles, values }: CommandWords): string {
  const list = commands.map(({ name, description }) => quoted(`${name}:${description}`)).join(' ');
  const rest = takesFiles
    ? "'*:file:_files'"
    : values.length > 0
      ? quoted(`1:value:(${values.join(' ')})`)
      : commands.length > 0
        ? "'1:command:->command'"
        : '';
  const specs = [...options.flatMap(specsOf), rest].filter((spec) => spec !== '').join(' ');
  return [
    `    '${path}')`,
    ...(list ? [`      commands=(${list})`] : []),
    `      local state; _arguments -s ${specs}`,
    ...(commands.length > 0 ? ['      [[ $state == command ]] && _describe command commands ;;'] : ['      ;;']),
  ].join('\n');
}

function specsOf({ names, description, takesValue, values, takesFile }: OptionWords): string[] {
  const text = description.replaceAll(/[[\]\\]/g, '').replaceAll(':', '');
  const action = values.length > 0 ? `(${values.join(' ')})` : takesFile ? '_files' : '( )';
  // Options of vnotes may stand anywhere and be repeated.
  return names.map((name) => quoted(`*${name}[${text}]${takesValue ? `:value:${action}` : ''}`));
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
