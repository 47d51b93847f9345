import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describedApi } from './api-changes.mjs';
import { readFileIfAny } from './files.mjs';
import { run, runVisibly } from './processes.mjs';
import { UserError } from './steps.mjs';

export const NOTES = 'release-notes.md';
const SIGNATURE = `${NOTES}.sig`;
/** A signature of release notes is none of anything else that the same key signs. */
const NAMESPACE = 'voice-notes-release';
const WORKSPACES = ['sdk', 'console', 'tools'];

/**
 * What keeps a version from being released, each with what to do.
 * @param {string} root @param {string} version such as 1.2.0 @param {NodeJS.ProcessEnv} env @returns {Promise<string[]>}
 */
export async function releaseProblems(root, version, env) {
  const git = async (...args) => (await run('git', args, { cwd: root, env })).stdout.trim();
  const problems = [];
  if ((await git('status', '--porcelain')) !== '') problems.push('The tree has changes: commit them.');
  const tagged = await git('rev-parse', '--verify', '--quiet', `v${version}^{commit}`);
  if (tagged !== (await git('rev-parse', 'HEAD')))
    problems.push(`v${version} is not the tag of HEAD: git tag --sign v${version}`);
  for (const folder of ['.', ...WORKSPACES]) {
    const { version: own } = JSON.parse(read(root, folder, 'package.json'));
    if (own !== version)
      problems.push(`${join(folder, 'package.json')} says ${own}: npm version --no-git-tag-version ${version}`);
  }
  const chart = /^appVersion: (.*)$/m.exec(read(root, 'docker', 'chart', 'Chart.yaml'))?.[1];
  if (chart !== version) problems.push(`appVersion in docker/chart/Chart.yaml is ${chart}: set it to ${version}`);
  const changelog = read(root, 'CHANGELOG.md');
  if (sectionOf(changelog, version) === '')
    problems.push(`CHANGELOG.md has no "## [${version}] - DATE": move what is unreleased there`);
  if (sectionOf(changelog, 'Unreleased') !== '')
    problems.push(`CHANGELOG.md has unreleased changes: move them to [${version}]`);
  if (read(root, 'scripts', 'released-api.json') !== describedApi(read(root, 'openapi.json')))
    problems.push('scripts/released-api.json is of another version: node scripts/check-api-changes.mjs --release');
  return problems;
}

/** What the change log says of a version, without its heading. */
function sectionOf(changelog, version) {
  const heading = `## [${version}]`;
  const sections = changelog.split(/^(?=## )/m).filter((section) => section.startsWith(heading));
  return sections.map((section) => section.slice(section.indexOf('\n') + 1).trim()).join('\n');
}

/**
 * The packages, the SBOM, and signed notes that name them and the image, in a folder.
 * @param {{ root: string, version: string, image: string, sbom: string, key: string, folder: string, advisories: string,
 *   env: NodeJS.ProcessEnv }} options image: NAME@sha256:…, as its registry has it. key: a private key of OpenSSH, or the public
 *   one of a key that the agent has. advisories: what is known of the packages
 */
export async function makeRelease({ root, version, image, sbom, key, folder, advisories, env }) {
  if (!/^\S+@sha256:[0-9a-f]{64}$/.test(image)) throw new UserError('--image names the image by digest: NAME@sha256:…');
  const { metadata, components = [] } = JSON.parse(readFileSync(sbom, 'utf8'));
  if (metadata?.component?.version !== version || components.length === 0)
    throw new UserError(`${sbom} is not the SBOM of ${version}: docker/image.sh sbom >${sbom}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pack = ['pack', '--pack-destination', folder, '--workspace', 'sdk', '--include-workspace-root'];
  const packed = await run('npm', pack, { cwd: root, env });
  if (packed.code !== 0) throw new UserError(`npm pack failed:\n${packed.output}`);
  copyFileSync(sbom, join(folder, 'sbom.cdx.json'));
  const commit = (await run('git', ['rev-parse', 'HEAD'], { cwd: root, env })).stdout.trim();
  const files = readdirSync(folder).toSorted();
  writeFileSync(
    join(folder, NOTES),
    `# Voice Note Transcription Service ${version}

${sectionOf(read(root, 'CHANGELOG.md'), version)}

## What it consists of

- Commit \`${commit}\`
- Image \`${image}\`
- ${components.length} packages and programs in the image: \`sbom.cdx.json\`
- Advisories: ${advisories}

SHA-256 of the files beside these notes:

\`\`\`text
${files.map((file) => `${sha256(join(folder, file))}  ${file}`).join('\n')}
\`\`\`
`,
  );
  const signed = await runVisibly('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', NAMESPACE, join(folder, NOTES)], {
    env,
  });
  if (signed !== 0) throw new UserError(`${key} signs nothing. Name a key of OpenSSH that is yours.`);
}

/**
 * Checks the signature of the notes, and the files that they name.
 * @param {{ folder: string, signers: string, env: NodeJS.ProcessEnv }} options signers: the allowed signers, as ssh-keygen reads them
 * @returns {Promise<{ signer: string, image: string, checked: string[], absent: string[] }>}
 */
export async function verifyRelease({ folder, signers, env }) {
  const keys = (readFileIfAny(signers) ?? '').split('\n').filter((line) => /^[^#\s]/.test(line));
  if (keys.length === 0)
    throw new UserError(`${signers} names no key of a maintainer, so that nothing can be checked.`);
  const notes = readFileIfAny(join(folder, NOTES));
  const signature = join(folder, SIGNATURE);
  if (notes === null || !existsSync(signature)) throw new UserError(`${folder} needs ${NOTES} and ${SIGNATURE}.`);
  const keygen = (action, ...args) =>
    run('ssh-keygen', ['-Y', action, '-f', signers, '-s', signature, ...args], { env, input: notes });
  const [signer = ''] = (await keygen('find-principals')).stdout.split('\n');
  const { code, output } = await keygen('verify', '-I', signer, '-n', NAMESPACE);
  if (signer === '' || code !== 0)
    throw new UserError(`The notes are not signed by a key in ${signers}.\n${output.trim()}`);
  const named = [...notes.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, sum, file]) => ({
    sum,
    path: join(folder, file),
    file,
  }));
  const present = named.filter(({ path }) => existsSync(path));
  const changed = present.filter(({ path, sum }) => sha256(path) !== sum).map(({ file }) => file);
  if (changed.length > 0) throw new UserError(`Not the files that were released: ${changed.join(', ')}.`);
  return {
    signer,
    image: /^- Image `(.*)`$/m.exec(notes)[1],
    checked: present.map(({ file }) => file),
    absent: named.filter((entry) => !present.includes(entry)).map(({ file }) => file),
  };
}

const read = (...path) => readFileSync(join(...path), 'utf8');
const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
