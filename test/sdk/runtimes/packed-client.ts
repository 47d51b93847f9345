import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../support/paths.js';

const PROGRAMS = join(ROOT, 'test', 'sdk', 'runtimes');
const STEP_MS = 120_000;

/** The package as `npm pack` makes it, installed in an empty folder outside the repository. */
export class PackedClient {
  private constructor(
    readonly folder: string,
    /** The `.tgz` file. */
    readonly archive: string,
  ) {}

  static async install(): Promise<PackedClient> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'vnotes-package-')));
    const packed = new PackedClient(folder, join(folder, 'vnotes.tgz'));
    await packed.run('npm', ['pack', join(ROOT, 'sdk'), '--loglevel=error']);
    const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
    await cp(join(folder, String(name)), packed.archive);
    await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    // Without a registry: the package depends on nothing.
    await packed.run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', packed.archive]);
    for (const file of ['steps.mjs', 'program.mjs', 'page.mjs', 'consumer.ts'])
      await cp(join(PROGRAMS, file), join(folder, file));
    return packed;
  }

  /** @returns its standard output */
  async run(command: string, args: string[], variables: Record<string, string> = {}): Promise<string> {
    const { PATH = '', HOME = '' } = process.env;
    const options = { cwd: this.folder, timeout: STEP_MS, env: { PATH, HOME, NO_COLOR: '1', ...variables } };
    try {
      return (await promisify(execFile)(command, args, options)).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
    }
  }

  /** A program of the project's own packages. */
  async tool(name: string, args: string[]): Promise<string> {
    return await this.run(join(ROOT, 'node_modules', '.bin', name), args);
  }

  /** One minified file for browsers. @returns its path */
  async bundle(entry: string, name: string): Promise<string> {
    const file = join(this.folder, name);
    await this.tool('rolldown', [entry, '--minify', '--platform', 'browser', '--file', file]);
    return file;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
