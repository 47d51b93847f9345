import { ROOT } from './paths.mjs';
import { run } from './processes.mjs';
import { parallelStep } from './steps.mjs';

const LABEL = 'Advisories';
const TIME_LIMIT_MS = 60_000;
const AUDIT = ['audit', '--omit=dev', '--package-lock-only', '--audit-level=high', '--json', '--fetch-retries=0'];

/**
 * What npm's registry says of the production packages of the lock file, by `npm audit`.
 * @returns {Promise<{ serious: string[], known: number, unknown: string | null }>} serious: of severity high or critical, with
 *   their titles. unknown: why nobody could be asked; then nothing is known, also not that there are none
 */
export async function findAdvisories(env, folder = ROOT) {
  const { code, stdout, output } = await run('npm', AUDIT, { cwd: folder, env, timeLimitMs: TIME_LIMIT_MS });
  const answer = parse(stdout);
  const totals = answer?.metadata?.vulnerabilities;
  if (!totals) {
    const reason = answer?.message ?? answer?.error?.summary ?? output.trim().split('\n').at(-1);
    return { serious: [], known: 0, unknown: reason || `npm audit ended with ${code}` };
  }
  const serious = Object.values(answer.vulnerabilities)
    .filter(({ severity }) => severity === 'high' || severity === 'critical')
    .map(({ name, severity, via }) => {
      const why = via.map((cause) => (typeof cause === 'string' ? `by ${cause}` : `${cause.title} (${cause.url})`));
      return `${name}: ${severity}: ${why.join('; ')}`;
    });
  return { serious, known: totals.total, unknown: null };
}

/**
 * A step of the checks. Where no advisories can be had it neither fails nor passes: it is listed as skipped.
 * @returns {Promise<import('./checks.mjs').Outcome>}
 */
export function checkAdvisories(env, folder = ROOT) {
  return parallelStep(LABEL, async () => {
    const { serious, known, unknown } = await findAdvisories(env, folder);
    const outcome = { label: LABEL, passed: 0, failed: 0, output: serious.join('\n') };
    if (unknown !== null) {
      const skipped = [
        `Advisories on production packages: not asked, because the registry does not tell them: ${unknown}`,
      ];
      return { ...outcome, skipped, detail: 'skipped: the registry does not tell them' };
    }
    if (serious.length > 0) return { ...outcome, failed: 1, detail: 'FAILED' };
    return { ...outcome, passed: 1, detail: `passed: ${known} of lower severity` };
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
