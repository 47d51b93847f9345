import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { readFileIfAny } from './files.mjs';
import { findCommand, run } from './processes.mjs';
import { findRedisServer } from './redis.mjs';
import { usesModel } from './speech-model.mjs';
import { UserError } from './steps.mjs';

/** Where Debian and Fedora, Homebrew on Apple and on Intel, and a local build put things. */
const PREFIXES = ['/usr', '/opt/homebrew', '/usr/local'];
const POCKETSPHINX_LIBRARIES = ['libpocketsphinx.so.3', 'libpocketsphinx.so.5', 'libpocketsphinx.dylib'];
const POCKETSPHINX_MODEL = 'share/pocketsphinx/model/en-us/en-us';
const APT_OPTIONS = ['-y', '-q', '-o', 'DPkg::Lock::Timeout=300'];

const REDIS = {
  name: 'redis-server',
  isThere: () => findRedisServer() !== null,
  apt: ['redis-server'],
  dnf: ['valkey'],
  brew: ['redis'],
};
const FFMPEG = {
  name: 'ffmpeg',
  isThere: () => findCommand('ffmpeg') !== null,
  apt: ['ffmpeg'],
  dnf: ['ffmpeg-free'],
  brew: ['ffmpeg'],
};
const POCKETSPHINX = {
  name: 'PocketSphinx with its English model',
  isThere: hasPocketSphinx,
  apt: ['libpocketsphinx3', 'libsphinxbase3', 'pocketsphinx-en-us'],
  dnf: ['pocketsphinx', 'pocketsphinx-models'],
  brew: ['cmu-pocketsphinx'],
};

/** Isolates ffmpeg and PocketSphinx. They also run without it, so that it is only asked for where SANDBOX=required. */
const BUBBLEWRAP = {
  name: 'bubblewrap',
  isThere: () => findCommand('bwrap') !== null,
  apt: ['bubblewrap'],
  dnf: ['bubblewrap'],
  brew: [],
};

/** For the tests of the console: the browser, and a font that has Latin, Arabic and Hebrew letters. */
const FONTS = ['fonts-noto-core'];
const CHROMIUM = {
  name: 'Chromium',
  isThere: () => findChromium() !== null,
  apt: ['chromium', ...FONTS],
  dnf: ['chromium', 'google-noto-sans-fonts', 'google-noto-sans-arabic-fonts', 'google-noto-sans-hebrew-fonts'],
  brew: ['--cask chromium'],
};
/** Chromium without windows and profiles, which takes a quarter of the processor time to open a page. */
const HEADLESS_SHELL = 'chromium-headless-shell';
const CHROMIUM_COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];
const CHROMIUM_ON_MACOS = '/Applications/Chromium.app/Contents/MacOS/Chromium';

/**
 * Makes sure of what npm cannot bring, installing it where that is possible without asking anybody.
 * @param {NodeJS.ProcessEnv} env decides what is needed
 * @returns {Promise<string>} what was done
 * @throws UserError with the commands that install what is missing
 */
export async function ensureSystemPackages(env) {
  const needed = neededPackages(env);
  const missing = needed.filter((item) => !item.isThere());
  if (env.SANDBOX !== 'off' && isTranscriber(env) && process.platform === 'linux')
    await installOptional('bwrap', BUBBLEWRAP.apt, 'weaker isolation');
  if (missing.length === 0) return needed.map((item) => item.name.split(' ')[0]).join(', ') || 'none needed';
  const problem = await installWithApt(missing.flatMap((item) => item.apt));
  const still = missing.filter((item) => !item.isThere());
  if (still.length > 0) throw new UserError(instructions(still, problem));
  return `installed ${missing.flatMap((item) => item.apt).join(', ')}`;
}

/** What apt can install, and without which something is only worse. */
async function installOptional(command, packages, consequence) {
  if (hasCommand(command)) return;
  const problem = await installWithApt(packages);
  if (!hasCommand(command))
    console.log(`  ${packages[0]} is not installed: ${consequence}.${problem ? ` ${problem}` : ''}`);
}

/** Also those of PATH for root. */
const hasCommand = (name) => findCommand(name) !== null || existsSync(`/usr/sbin/${name}`);

/**
 * A browser, for the tests of the console; and PgBouncer where apt can install it: without it
 * `test/fleet/outages/pgbouncer.e2e.ts` is skipped.
 * @throws UserError with the commands that install Chromium
 */
export async function installTestPackages() {
  const isDebian = /^ID=debian$/m.test(readFileIfAny('/etc/os-release') ?? '');
  // Ubuntu has no package of it. Without it the tests use Chromium itself.
  if (!process.env.CHROMIUM && isDebian)
    await installOptional(HEADLESS_SHELL, [HEADLESS_SHELL, ...FONTS], 'slower tests of the console');
  if (!findTestBrowser()) {
    const problem = await installWithApt(CHROMIUM.apt);
    if (!findTestBrowser()) throw new UserError(instructions([CHROMIUM], problem));
  }
  await installOptional('pgbouncer', ['pgbouncer'], 'its test is skipped');
}

/** What the fleet test runs beside the service: HAProxy, PgBouncer, and what makes networks. */
const FLEET = [
  ['haproxy', 'haproxy'],
  ['pgbouncer', 'pgbouncer'],
  ['ip', 'iproute2'],
  ['nft', 'nftables'],
  ['redis-cli', 'redis-tools'],
  ['setpriv', 'util-linux'],
];

/** @throws UserError with what is missing */
export async function installFleetPackages() {
  const missing = () => FLEET.filter(([command]) => !hasCommand(command));
  if (missing().length === 0) return;
  const problem = await installWithApt(missing().map(([, name]) => name));
  if (missing().length === 0) return;
  throw new UserError(
    `Missing: ${missing()
      .map(([, name]) => name)
      .join(', ')}.${problem ? ` ${problem}` : ''}`,
  );
}

/** @returns {string | null} the path of the browser that CHROMIUM names, of the headless shell, or of Chromium */
export function findTestBrowser() {
  return process.env.CHROMIUM ? findChromium() : (findCommand(HEADLESS_SHELL) ?? findChromium());
}

/** @returns {string | null} the path of the browser: the one that CHROMIUM names, or one of this machine */
function findChromium() {
  const given = process.env.CHROMIUM;
  if (given) return existsSync(given) ? given : null;
  const found = CHROMIUM_COMMANDS.map(findCommand).find(Boolean);
  return found ?? (existsSync(CHROMIUM_ON_MACOS) ? CHROMIUM_ON_MACOS : null);
}

const isTranscriber = (env) => !env.ROLES || /worker|transcriber/.test(env.ROLES);

export function neededPackages(env) {
  const worker = isTranscriber(env);
  const openAi = Boolean(env.OPENAI_BASE_URL || env.OPENAI_API_KEY);
  const engine = env.TRANSCRIPTION_ENGINE || 'auto';
  // One engine, or a chain of several in either of its forms.
  const pocketSphinx = /\bpocketsphinx\b/.test(engine) || (engine === 'auto' && !openAi && !usesModel(env));
  return [
    ...(env.REDIS_URL ? [] : [REDIS]),
    ...(worker ? [FFMPEG] : []),
    ...(worker && pocketSphinx ? [POCKETSPHINX] : []),
    ...(worker && env.SANDBOX === 'required' ? [BUBBLEWRAP] : []),
  ];
}

/** @returns {Promise<string | null>} why nothing could be installed */
async function installWithApt(packages) {
  if (!findCommand('apt-get')) return null;
  const prefix = aptPrefix();
  if (prefix === null) return 'They could not be installed: this is not root, and sudo would ask for a password.';
  for (const args of [
    ['update', '-q'],
    ['install', ...APT_OPTIONS, '--no-install-recommends', ...packages],
  ]) {
    const [command, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args];
    const { code, output } = await run(command, rest);
    // An update may fail for one of many sources; what counts is whether the packages can be had.
    if (code !== 0 && args[0] === 'install') return `apt-get install failed:\n${lastLines(output)}`;
  }
  return null;
}

/** @returns {string[] | null} null when apt may not be used */
function aptPrefix() {
  if (process.getuid() === 0) return [];
  const sudo = findCommand('sudo');
  return sudo && spawnSync(sudo, ['-n', 'true']).status === 0 ? [sudo, '-n'] : null;
}

function hasPocketSphinx() {
  const model = PREFIXES.some((prefix) => existsSync(join(prefix, POCKETSPHINX_MODEL)));
  if (!model) return false;
  const folders = PREFIXES.map((prefix) => join(prefix, 'lib')).concat(process.env.LD_LIBRARY_PATH?.split(':') ?? []);
  if (folders.some((folder) => POCKETSPHINX_LIBRARIES.some((name) => existsSync(join(folder, name))))) return true;
  // The dynamic linker's list: libraries lie in folders named after the machine.
  const ldconfig = findCommand('ldconfig') ?? '/sbin/ldconfig';
  const known = spawnSync(ldconfig, ['-p'], { encoding: 'utf8' }).stdout ?? '';
  return POCKETSPHINX_LIBRARIES.some((name) => known.includes(name));
}

function instructions(missing, problem) {
  const sudo = process.getuid() === 0 ? '' : 'sudo ';
  const list = (manager) => missing.flatMap((item) => item[manager]).join(' ');
  return [
    `Missing: ${missing.map((item) => item.name).join(', ')}.${problem ? ` ${problem}` : ''}`,
    'Install with the line for your system, then run the same command again:',
    '',
    `  Debian, Ubuntu   ${sudo}apt-get update && ${sudo}apt-get install -y ${list('apt')}`,
    `  Fedora           ${sudo}dnf install -y ${list('dnf')}`,
    `  macOS            brew install ${list('brew')}`,
    ...(missing.includes(POCKETSPHINX)
      ? ['', 'Or use a model: npm start -- --model whisper-small. Or set OPENAI_BASE_URL to a transcription server.']
      : []),
    ...(missing.includes(REDIS) ? ['', 'Or set REDIS_URL to a Redis of your own.'] : []),
  ].join('\n');
}

function lastLines(text) {
  return text.trim().split('\n').slice(-8).join('\n');
}
