/** @param {{ findings: import('./checker.mjs').Finding[], figures: { what: string, found: string }[] }} result */
export function printResult({ findings, figures }) {
  const width = Math.max(...[...findings, ...figures].map(({ what }) => what.length)) + 2;
  console.log();
  for (const { what, found } of figures) console.log(`  ${what.padEnd(width)}${found}`);
  console.log();
  for (const { what, found, allowed, ok } of findings) {
    console.log(
      `  ${what.padEnd(width)}${String(found).padStart(5)}  of ${String(allowed).padStart(3)}  ${ok ? 'ok' : 'FAILED'}`,
    );
  }
  console.log(`\n${verdictOf(findings)}`);
}

/** @param {import('./checker.mjs').Finding[]} findings */
export function verdictOf(findings) {
  const lost = lossesOf(findings);
  return lost.length === 0 ? 'Nothing was lost.' : `Something was lost: ${lost.join('; ')}.`;
}

/** @param {import('./checker.mjs').Finding[]} findings @returns {string[]} what is not as promised */
export function lossesOf(findings) {
  return findings.filter(({ ok }) => !ok).map(({ what, found }) => `${what}: ${found}`);
}
