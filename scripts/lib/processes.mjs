import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;
const TOOL_STOP_TIMEOUT_MS = 2000;
/** For output that is still in the pipe when a tool has ended. */
const PIPE_DRAIN_MS = 1000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * Something that names a process for as long as the machine is up. A pid alone is not enough: after a reboot or in
 * a new container the same number soon belongs to somebody else.
 * @returns {string | null} null when there is no such process
 */
export function identityOf(pid) {
  if (!isNumberTaken(pid)) return null;
  if (process.platform === 'linux') {
    const { state, startTime } = statOf(pid);
    return startTime === undefined || state === 'Z' ? null : `${pid} ${startTime}`;
  }
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() ? `${pid} ${stdout.trim()}` : null;
}

/** What Linux tells of a process; nothing when there is none. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name in parentheses may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], parent: Number(fields[1]), startTime: fields[19] };
  } catch {
    return {};
  }
}

/** Whether there is a process of that number, be it one that has ended and was not collected by its parent yet. */
export function isNumberTaken(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

/** The processes that work in a folder, which only Linux can tell. @returns {number[]} */
export function processesIn(folder) {
  if (process.platform !== 'linux') return [];
  return linuxProcesses().filter((pid) => workingFolderOf(pid) === folder);
}

const linuxProcesses = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** The command line of a process, its arguments separated by spaces; empty when it cannot be read. */
export function commandLineOf(pid) {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  } catch {
    return '';
  }
}

/**
 * Asks a process to end, and ends it by force after the time is up.
 * @returns {Promise<boolean>} false when force was needed
 */
export async function stopProcess(pid, signal, timeoutMs) {
  const identity = identityOf(pid);
  const gone = () => identity === null || identityOf(pid) !== identity;
  if (gone()) return true;
  trySignal(pid, signal);
  if (await waitUntil(gone, timeoutMs)) return true;
  trySignal(pid, 'SIGKILL');
  await waitUntil(gone, 5000);
  return false;
}

/** @returns {Promise<boolean>} whether the condition came true in time */
export async function waitUntil(condition, timeoutMs, everyMs = POLL_MS) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    if (await condition()) return true;
    if (Date.now() >= deadline) return false;
    await sleep(everyMs);
  }
}

const tools = new Set();
let isEnding = false;

/**
 * Runs a tool to its end.
 * @param {import('node:child_process').SpawnOptions & { input?: string, timeLimitMs?: number, showsErrors?: boolean }} options
 *   showsErrors: its standard error goes to the terminal
 * @returns {Promise<{ code: number, stdout: string, output: string }>} output: both streams as they came
 */
export function run(command, args, { input = '', timeLimitMs = 0, showsErrors = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    refuseWhileEnding();
    const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', showsErrors ? 'inherit' : 'pipe'] });
    tools.add(child);
    let stdout = '';
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    const limit = timeLimitMs > 0 ? setTimeout(endLate, timeLimitMs) : undefined;
    function endLate() {
      output += `\n${command} was ended: it took longer than ${timeLimitMs / 60_000} minutes.\n`;
      child.kill('SIGKILL');
    }
    child.on('error', reject);
    child.on('exit', () => {
      clearTimeout(limit);
      tools.delete(child);
      // What it started and left behind may hold its output open for ever.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr?.destroy();
      }, PIPE_DRAIN_MS).unref();
    });
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, output }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** Runs a tool that talks to the terminal itself. @returns {Promise<number>} its exit code */
export function runVisibly(command, args, options) {
  return new Promise((resolve, reject) => {
    refuseWhileEnding();
    const child = spawn(command, args, { ...options, stdio: 'inherit' });
    tools.add(child);
    child.on('error', reject);
    child.on('exit', (code) => {
      tools.delete(child);
      resolve(code ?? 1);
    });
  });
}

function refuseWhileEnding() {
  if (isEnding) throw new Error('Everything is being stopped.');
}

/**
 * Ends the tools that are under way, and starts no others, when the command that runs them is itself to end. npm would
 * take its time. Then it ends what they have started and left running, such as the services of tests.
 */
export async function stopTools() {
  isEnding = true;
  const running = [...tools].map((tool) => tool.pid);
  const started = descendantsOf(running).map((pid) => ({ pid, identity: identityOf(pid) }));
  await Promise.all(running.map((pid) => stopProcess(pid, 'SIGTERM', TOOL_STOP_TIMEOUT_MS)));
  const left = started.filter(({ pid, identity }) => identity !== null && identityOf(pid) === identity);
  await Promise.all(left.map(({ pid }) => stopProcess(pid, 'SIGTERM', TOOL_STOP_TIMEOUT_MS)));
}

/** @returns {number[]} */
export function childrenOf(pid) {
  return parentsOfAll().flatMap(([child, parent]) => (parent === pid ? child : []));
}

/** The children of these processes, their children, and so on. @returns {number[]} */
function descendantsOf(pids) {
  const parents = parentsOfAll();
  const found = new Set(pids);
  // A set is walked with what is added to it meanwhile.
  for (const parent of found) for (const [pid, its] of parents) if (its === parent) found.add(pid);
  return [...found].filter((pid) => !pids.includes(pid));
}

/** @returns {[number, number][]} each process with its parent */
function parentsOfAll() {
  if (process.platform === 'linux') return linuxProcesses().map((pid) => [pid, statOf(pid).parent]);
  const { stdout } = spawnSync('ps', ['-Ao', 'pid=,ppid='], { encoding: 'utf8' });
  const lines = (stdout ?? '').trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/).map(Number));
}

/** @returns {string | null} the path of a command that PATH leads to */
export function findCommand(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/**
 * Starts a server with its output in a log file. It gets a process group of its own, so that Ctrl-C in the terminal
 * reaches only the start command, which then stops everything in order.
 */
export function spawnServer(command, args, { logFile, input, ...options }) {
  const log = openSync(logFile, 'a', 0o600);
  try {
    const stdin = input === undefined ? 'ignore' : 'pipe';
    const child = spawn(command, args, { ...options, detached: true, stdio: [stdin, log, log] });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    return child;
  } finally {
    closeSync(log);
  }
}

/** Keeps one older log beside the current one, and neither without bound. */
export function rotateLog(logFile) {
  if (sizeOf(logFile) > LOG_LIMIT_BYTES) renameSync(logFile, `${logFile}.1`);
}

/** How much of a log is there already, to tell later what is new. */
export function sizeOf(logFile) {
  return statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last lines that a log got since it had that size, for an error message. */
export function tailOf(logFile, since, lines = 15) {
  const text = readFileSync(logFile).subarray(since).toString('utf8');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** The process may have ended meanwhile. */
export function trySignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function workingFolderOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
