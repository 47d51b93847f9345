/** What programs need to be found, to find their libraries and to speak UTF-8. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'LANG', 'LC_ALL', 'LC_CTYPE'];

/** The environment of a child process: child processes read strangers' audio, so they see no secret of ours. */
export function childEnvironment(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])));
}
