// Makes the signed notes of a release, or checks them:
//   npm run release -- VERSION --image NAME@sha256:… --sbom FILE --key FILE     into .data/releases/VERSION
//   npm run release -- verify FOLDER [--signers FILE]                           by the keys in allowed_signers
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { findAdvisories } from './lib/advisories.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { DATA, ROOT } from './lib/paths.mjs';
import { makeRelease, NOTES, releaseProblems, verifyRelease } from './lib/releases.mjs';
import { printError, step, UserError } from './lib/steps.mjs';

const USAGE = `usage: npm run release -- VERSION --image NAME@sha256:… --sbom FILE --key FILE
       npm run release -- verify FOLDER [--signers FILE]`;

async function main() {
  const options = ['image', 'sbom', 'key', 'signers'].map((name) => [name, { type: 'string' }]);
  const { values, positionals } = parseArgs({ options: Object.fromEntries(options), allowPositionals: true });
  const [what, folder] = positionals;
  if (what === 'verify' && folder) return await verify(folder, values.signers ?? join(ROOT, 'allowed_signers'));
  const { image, sbom, key } = values;
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/.test(what ?? '') || !image || !sbom || !key) throw new UserError(USAGE);
  return await make(what, { image, sbom, key });
}

async function make(version, { image, sbom, key }) {
  // As the maintainer has it: the agent of OpenSSH is named there.
  const { env } = process;
  const problems = await releaseProblems(ROOT, version, env);
  if (problems.length > 0) throw new UserError(problems.join('\n'));
  const advisories = await step('Advisories', async () => {
    const { serious, known, unknown } = await findAdvisories(cleanEnvironment());
    if (serious.length > 0) throw new UserError(serious.join('\n'));
    const day = new Date().toISOString().slice(0, 10);
    return unknown === null
      ? `none of severity high on ${day}, ${known} of lower severity, by npm's registry`
      : `not asked, because the registry did not tell them (${unknown})`;
  });
  const folder = join(DATA, 'releases', version);
  await step('Packages, notes', () => makeRelease({ root: ROOT, version, image, sbom, key, folder, advisories, env }));
  console.log(`Publish what is in ${folder}. ${NOTES}.sig is the signature.`);
}

async function verify(folder, signers) {
  const { signer, image, checked, absent } = await verifyRelease({ folder, signers, env: process.env });
  console.log(`Signed by ${signer}.\nImage: ${image}`);
  console.log(`As released: ${checked.join(', ') || 'no file is here'}`);
  if (absent.length > 0) console.log(`Not here: ${absent.join(', ')}`);
}

try {
  await main();
} catch (error) {
  printError(error);
  process.exitCode = 1;
}
