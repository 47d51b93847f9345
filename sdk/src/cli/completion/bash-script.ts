import type { CommandWords, OptionWords } from './completion-words.js';

/** Works with bash 3.2, which macOS has, and without the package bash-completion. */
export function bashScript(commands: CommandWords[]): string {
  return `# Completion of vnotes for bash. In ~/.bashrc: source <(vnotes completion bash)
_vnotes() {
  local word=\${COMP_WORDS[COMP_CWORD]} before= path= step expects_value= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    step=\${COMP_WORDS[i]}
    if [[ -n $expects_value ]]; then expects_value=; continue; fi
    case "$path" in
${commands.map(stepCase).join('\n')}
    esac
  done
  before=\${COMP_WORDS[COMP_CWORD-1]}
  case "$path" in
${commands.map(replyCase).join('\n')}
  esac
}
complete -o bashdefault -o default -F _vnotes vnotes
`;
}

/** Which words lead to a command below, and which options have their value in the next word. */
function stepCase({ path, commands, options }: CommandWords): string {
  const deeper = commands.map(({ name }) => name).join('|');
  const valued = options.filter(({ takesValue }) => takesValue).flatMap(({ names }) => names);
  const lines = [
    `      ${quoted(path)}) case "$step" in`,
    ...(deeper ? [`        ${deeper}) path="\${path:+$path }$step" ;;`] : []),
    ...(valued.length > 0 ? [`        ${valued.join('|')}) expects_value=1 ;;`] : []),
    '        *) ;;',
    '      esac ;;',
  ];
  return lines.join('\n');
}

function replyCase({ path, commands, options, values }: CommandWords): string {
  const names = options.flatMap((option) => option.names.filter((name) => name.startsWith('--')));
  const plain = [...commands.map(({ name }) => name), ...values];
  return [
    `    ${quoted(path)})`,
    '      if [[ -n $expects_value ]]; then case "$before" in',
    ...options.filter(({ takesValue }) => takesValue).map(valueCase),
    '      esac; return; fi',
    `      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '${names.join(' ')}' -- "$word"))`,
    plain.length > 0 ? `      else COMPREPLY=($(compgen -W '${plain.join(' ')}' -- "$word")); fi ;;` : '      fi ;;',
  ].join('\n');
}

function valueCase({ names, values, takesFile }: OptionWords): string {
  const reply = values.length > 0 ? `COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word"))` : '';
  const nothing = takesFile ? '' : 'compopt +o bashdefault +o default 2>/dev/null';
  return `        ${names.join('|')}) ${reply || nothing || ':'} ;;`;
}

const quoted = (path: string): string => `'${path}'`;
