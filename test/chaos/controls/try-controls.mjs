import { ROOT } from '../../../scripts/lib/paths.mjs';
import { UserError } from '../../../scripts/lib/steps.mjs';
import { lossesOf, verdictOf } from '../report.mjs';
import { Run } from '../run.mjs';
import { CONTROLS } from './controls.mjs';
import { faultyBuild } from './faulty-build.mjs';

/**
 * Runs each fault twice with the same load: as the service is, and without the protection that the fault is about.
 * @param {{ seed: string, only?: string }} options only: a kind of fault
 * @returns {Promise<boolean>} whether the first lost nothing, and the second something, each time
 */
export async function tryControls({ seed, only }) {
  const controls = CONTROLS.filter(({ fault }) => only === undefined || fault === only);
  if (controls.length === 0) {
    throw new UserError(`With --control, --only takes one of: ${CONTROLS.map(({ fault }) => fault).join(', ')}`);
  }
  const lines = [];
  let isProven = true;
  for (const control of controls) {
    const faulty = faultyBuild(ROOT, control);
    const protectedRun = await perform(control, seed, ROOT);
    const faultyRun = await perform(control, seed, faulty);
    isProven &&= lossesOf(protectedRun).length === 0 && lossesOf(faultyRun).length > 0;
    lines.push(control.fault, `  as it is: ${verdictOf(protectedRun)}`);
    lines.push(`  without "${control.without}": ${verdictOf(faultyRun)}`);
  }
  console.log(`\n${lines.join('\n')}`);
  console.log(isProven ? '\nEach protection is needed.' : '\nA control has not shown what it must.');
  return isProven;
}

async function perform({ fault, without, size, onS3 = false }, seed, root) {
  console.log(`\n${fault}${root === ROOT ? '' : `, without: ${without}`}`);
  const { findings } = await Run.perform({ seed, size, onS3, root });
  return findings;
}
