import { readFileSync } from 'node:fs';
import type { AxeResults, Result } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Rules of WCAG 2.2 up to AA, best practices and those that axe-core is still trying out. AAA is left out: its contrast
 * of 7 : 1 would make muted text as dark as any other.
 */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice', 'experimental'];

/** Fails with each finding of axe-core and the element that it is about. */
export async function expectAccessible(page: Page): Promise<void> {
  // Colours and places are judged as they are: an animation must have ended.
  await page.evaluate(() => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    return Promise.all(ending.map(({ finished }) => finished.catch(() => null)));
  });
  await page.evaluate(AXE);
  const violations = await page.evaluate(async (tags): Promise<Result[]> => {
    const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResults> } };
    // It would copy the style of a shadow root into a document of its own, which breaks the policy of the page.
    const preload = false;
    return (await axe.run({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'], preload })).violations;
  }, TAGS);
  const findings = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${help}\n  ${target.join(' ')}\n  ${html}\n  ${failureSummary}`,
    ),
  );
  expect(findings).toEqual([]);
}
