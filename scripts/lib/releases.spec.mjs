import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describedApi } from './api-changes.mjs';
import { cleanEnvironment } from './environment.mjs';
import { makeRelease, NOTES, releaseProblems, verifyRelease } from './releases.mjs';

const VERSION = '1.2.0';
const IMAGE = `registry.example.com/voice-notes@sha256:${'ab'.repeat(32)}`;
const ADVISORIES = 'not asked, because the registry did not tell them (405)';
const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-11-29

### Added

- A thing.

## [1.1.0] - 2026-10-01

- An older thing.
`;

/** A repository as a maintainer has it before a release, and two keys. */
function makeRepository(folder) {
  const root = join(folder, 'repository');
  const write = (name, content) => {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content));
  };
  write('package.json', { name: 'service', version: VERSION, private: true, workspaces: ['sdk', 'console', 'tools'] });
  for (const name of ['sdk', 'console', 'tools'])
    write(`${name}/package.json`, { name: `its-${name}`, version: VERSION });
  write('docker/chart/Chart.yaml', `name: chart\nappVersion: ${VERSION}\n`);
  write('CHANGELOG.md', CHANGELOG);
  write('openapi.json', { openapi: '3.1.0', paths: {} });
  write('scripts/released-api.json', describedApi(readFileSync(join(root, 'openapi.json'), 'utf8')));
  const git = (...args) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
  git('init', '--quiet');
  git('add', '--all');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--message', 'A release');
  git('tag', `v${VERSION}`);
  const sbom = join(folder, 'sbom.json');
  writeFileSync(sbom, JSON.stringify({ metadata: { component: { version: VERSION } }, components: [{ name: 'pg' }] }));
  for (const name of ['key', 'other'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)]);
  return { root, write, git, sbom };
}

describe('a release', () => {
  const env = cleanEnvironment();
  let folder;
  let repository;
  let files;
  let signers;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'release-'));
    repository = makeRepository(folder);
    files = join(folder, 'files');
    signers = join(folder, 'allowed_signers');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const allow = (key, options = 'namespaces="voice-notes-release"') =>
    writeFileSync(
      signers,
      `# maintainers\nrelease@example.com ${options} ${readFileSync(join(folder, `${key}.pub`), 'utf8')}`,
    );
  const make = (options = {}) =>
    makeRelease({
      root: repository.root,
      version: VERSION,
      image: IMAGE,
      sbom: repository.sbom,
      key: join(folder, 'key'),
      folder: files,
      advisories: ADVISORIES,
      env,
      ...options,
    });
  const verify = () => verifyRelease({ folder: files, signers, env });

  it('has notes with the changes, the image and the checksums, whose signature a user can check', async () => {
    expect(await releaseProblems(repository.root, VERSION, env)).toEqual([]);
    await make();
    allow('key');
    expect(await verify()).toEqual({
      signer: 'release@example.com',
      image: IMAGE,
      checked: ['its-sdk-1.2.0.tgz', 'sbom.cdx.json', 'service-1.2.0.tgz'],
      absent: [],
    });
    const notes = readFileSync(join(files, NOTES), 'utf8');
    expect(notes).toContain('- A thing.');
    expect(notes).not.toContain('older');
    expect(notes).toContain(ADVISORIES);
    expect(notes).toContain(repository.git('rev-parse', 'HEAD').toString().trim());
    // Also without this repository.
    const sums = notes.split('\n').filter((line) => /^[0-9a-f]{64} {2}/.test(line));
    execFileSync('sha256sum', ['--check', '--quiet'], { cwd: files, input: `${sums.join('\n')}\n` });
    rmSync(join(files, 'service-1.2.0.tgz'));
    expect(await verify()).toMatchObject({ absent: ['service-1.2.0.tgz'] });
  });

  it('is refused when its notes or files were changed, when another has signed, and where nobody is allowed to', async () => {
    await make();
    await expect(verify()).rejects.toThrow('names no key of a maintainer');
    allow('other');
    await expect(verify()).rejects.toThrow('not signed by a key in');
    allow('key', 'namespaces="git"');
    await expect(verify()).rejects.toThrow('not signed by a key in');
    allow('key');
    await verify();
    appendFileSync(join(files, 'sbom.cdx.json'), ' ');
    await expect(verify()).rejects.toThrow('Not the files that were released: sbom.cdx.json.');
    await make();
    appendFileSync(join(files, NOTES), '- And another image\n');
    await expect(verify()).rejects.toThrow('not signed by a key in');
  });

  it('is not made of what is no version, each problem with its remedy', async () => {
    repository.write('package.json', { name: 'service', version: '1.1.0' });
    repository.write('docker/chart/Chart.yaml', 'appVersion: 1.1.0\n');
    repository.write('openapi.json', { openapi: '3.1.0', paths: {}, servers: [] });
    repository.write('CHANGELOG.md', CHANGELOG.replace('## [1.2.0] - 2026-11-29\n', ''));
    repository.git('tag', '--delete', `v${VERSION}`);
    expect(await releaseProblems(repository.root, VERSION, env)).toEqual([
      'The tree has changes: commit them.',
      'v1.2.0 is not the tag of HEAD: git tag --sign v1.2.0',
      'package.json says 1.1.0: npm version --no-git-tag-version 1.2.0',
      'appVersion in docker/chart/Chart.yaml is 1.1.0: set it to 1.2.0',
      'CHANGELOG.md has no "## [1.2.0] - DATE": move what is unreleased there',
      'CHANGELOG.md has unreleased changes: move them to [1.2.0]',
      'scripts/released-api.json is of another version: node scripts/check-api-changes.mjs --release',
    ]);
  });

  it('names the image by its digest, and comes with the SBOM of this version', async () => {
    await expect(make({ image: 'registry.example.com/voice-notes:1.2.0' })).rejects.toThrow('by digest');
    writeFileSync(repository.sbom, JSON.stringify({ metadata: { component: { version: '1.1.0' } }, components: [] }));
    await expect(make()).rejects.toThrow('is not the SBOM of 1.2.0');
    await expect(make({ key: join(folder, 'none') })).rejects.toThrow('is not the SBOM of 1.2.0');
  });
});
