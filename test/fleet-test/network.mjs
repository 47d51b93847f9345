import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import { trySignal } from '../../scripts/lib/processes.mjs';
import { UserError } from '../../scripts/lib/steps.mjs';

const BRIDGE = 'vnfleet';
const PREFIX = 'vnfleet-';
/** The test itself, from where clients come. */
const OWN_ADDRESS = '10.231.0.1';
export const SUBNET = '10.231.0.0/24';
const DELAY = ['delay', '100ms', '50ms', 'loss', '5%'];
/** Where the kernel has no netem: TCP sends again after 200 ms and more what is dropped. */
const LOSS_PERCENT = 10;
const RATE = ['rate', '1mbit', 'burst', '16kb', 'latency', '300ms'];

/** Machines of one network: each is a network namespace with an address of its own on a bridge. */
export class Network {
  #hosts = 0;

  /** @param undo gets what takes it down @throws UserError when this may not be done */
  static create(undo) {
    if (process.getuid?.() !== 0) throw new UserError('The fleet test makes network namespaces: run it as root.');
    removeLeftovers();
    undo.push(removeLeftovers);
    tool('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
    tool('ip', ['addr', 'add', `${OWN_ADDRESS}/24`, 'dev', BRIDGE]);
    tool('ip', ['link', 'set', BRIDGE, 'up']);
    return new Network();
  }

  host(name) {
    return new Host(name, this.#hosts++);
  }
}

/** What happens to a host happens to all that runs on it, and lasts until it is mended. */
export class Host {
  static hasNetem = false;

  constructor(name, number) {
    this.name = name;
    this.namespace = PREFIX + name;
    this.address = `10.231.0.${number + 10}`;
    this.within = ['ip', 'netns', 'exec', this.namespace];
    const port = `vnf${number}`;
    tool('ip', ['netns', 'add', this.namespace]);
    tool('ip', ['link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.namespace]);
    tool('ip', ['link', 'set', port, 'master', BRIDGE, 'up']);
    this.run('ip', ['addr', 'add', `${this.address}/24`, 'dev', 'eth0']);
    for (const device of ['eth0', 'lo']) this.run('ip', ['link', 'set', device, 'up']);
  }

  run(command, args) {
    return tool('ip', ['netns', 'exec', this.namespace, command, ...args]);
  }

  /** @param {NodeJS.Signals} signal to every process here */
  signal(signal) {
    for (const pid of this.#pids()) trySignal(pid, signal);
  }

  /** Resolves when nothing runs here any more. */
  async kill() {
    while (this.#pids().length > 0) {
      this.signal('SIGKILL');
      await sleep(20);
    }
  }

  freeze() {
    this.signal('SIGSTOP');
  }

  thaw() {
    this.signal('SIGCONT');
  }

  /** By netem, or where the kernel has none by a narrow line that loses packets. */
  slow() {
    const discipline = Host.hasNetem ? ['netem', ...DELAY] : ['tbf', ...RATE];
    this.run('tc', ['qdisc', 'replace', 'dev', 'eth0', 'root', ...discipline]);
    if (!Host.hasNetem) this.#filter(`numgen random mod 100 < ${LOSS_PERCENT} drop`);
  }

  /** Packets are dropped in both directions, and nobody is told. */
  cut() {
    this.#filter('drop');
  }

  /** Takes back `slow` and `cut`. */
  mend() {
    spawnSync('ip', ['netns', 'exec', this.namespace, 'tc', 'qdisc', 'del', 'dev', 'eth0', 'root']);
    spawnSync('ip', ['netns', 'exec', this.namespace, 'nft', 'delete', 'table', 'inet', 'fault']);
  }

  #filter(rule) {
    this.run('nft', ['add', 'table', 'inet', 'fault']);
    for (const hook of ['input', 'output']) {
      this.run('nft', ['add', 'chain', 'inet', 'fault', hook, `{ type filter hook ${hook} priority 0; }`]);
      const device = hook === 'input' ? 'iifname' : 'oifname';
      this.run('nft', ['add', 'rule', 'inet', 'fault', hook, device, 'eth0', ...rule.split(' ')]);
    }
  }

  #pids() {
    return pidsIn(this.namespace);
  }
}

/** Whether the kernel delays packets by itself. @param {Host} host one that nobody uses yet */
export function findNetem(host) {
  const args = ['netns', 'exec', host.namespace, 'tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', 'netem', ...DELAY];
  Host.hasNetem = spawnSync('ip', args).status === 0;
  host.mend();
  return Host.hasNetem
    ? `netem ${DELAY.join(' ')}`
    : `no netem in this kernel: ${LOSS_PERCENT} % of packets lost in each direction, ${RATE.join(' ')}`;
}

/** Of a run that was killed, and of this one at its end. */
function removeLeftovers() {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  const names = (stdout ?? '').split('\n').map((line) => line.split(' ')[0]);
  for (const name of names.filter((found) => found.startsWith(PREFIX))) {
    for (const pid of pidsIn(name)) trySignal(pid, 'SIGKILL');
    tool('ip', ['netns', 'del', name]);
  }
  // The kernel would take them away with the namespaces, some time later.
  for (const { ifname } of JSON.parse(tool('ip', ['-json', 'link', 'show', 'type', 'veth']).trim() || '[]')) {
    if (/^vnf\d+$/.test(ifname)) spawnSync('ip', ['link', 'del', ifname]);
  }
  spawnSync('ip', ['link', 'del', BRIDGE]);
}

function pidsIn(namespace) {
  const { stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').filter(Boolean).map(Number);
}

function tool(command, args) {
  const { status, stderr, stdout, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new UserError(`${command} ${args.join(' ')}: ${error?.code ?? stderr.trim()}`);
  return stdout;
}
