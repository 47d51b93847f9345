import koffi from 'koffi';

/** From linux/prctl.h. */
const PR_SET_DUMPABLE = 4;

/** What every process of the service does at boot, before it opens a connection. */
export function protectProcess(): void {
  // `0` would switch off the check of certificates of Postgres, Redis and S3, unless each client said otherwise.
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  forbidInspection();
}

/**
 * Closes /proc/PID/environ, /proc/PID/mem and ptrace of this process to other processes of its user, and forbids core
 * dumps: they hold the passwords of Postgres and Redis, and SECRET_KEY or the keys of engines. Children that it starts are not affected. Root may still look (prctl(2), Linux only).
 */
function forbidInspection(): void {
  if (process.platform !== 'linux') return;
  const prctl = koffi.load(null).func('int prctl(int option, unsigned long value)');
  prctl(PR_SET_DUMPABLE, 0);
}

/** What programs need to be found, to find their libraries and to speak UTF-8. */
const PASSED_ON = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'LANG', 'LC_ALL', 'LC_CTYPE'];

/** The environment of a child process: child processes read strangers' audio, so they see no secret of ours. */
export function childEnvironment(source: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])));
}
