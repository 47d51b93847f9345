import { readFileSync } from 'node:fs';
import type { AxeResults, Result } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Rules of WCAG 2.2 up to AA, best practices and those that axe-core is still trying out. AAA is left out: its contrast
 * of 7 : 1 would make muted text as dark as any other.
 */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice', 'experimental'];
/** The rules of these tags that look at colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Fails with each finding of axe-core and the element that it is about. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoFindings(page, { type: 'tag', values: TAGS });
}

/** As {@link expectAccessible}, for a page that differs in nothing but its colours from one that passed. */
export async function expectAccessibleColours(page: Page): Promise<void> {
  await expectNoFindings(page, { type: 'rule', values: COLOUR_RULES });
}

async function expectNoFindings(page: Page, rules: { type: string; values: string[] }): Promise<void> {
  await animationsEnded(page);
  // Parsing it takes as long as using it: a page gets it once.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const violations = await page.evaluate(async (runOnly): Promise<Result[]> => {
    const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResults> } };
    // It would copy the style of a shadow root into a document of its own, which breaks the policy of the page.
    const preload = false;
    return (await axe.run({ runOnly, resultTypes: ['violations'], preload })).violations;
  }, rules);
  const findings = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${help}\n  ${target.join(' ')}\n  ${html}\n  ${failureSummary}`,
    ),
  );
  expect(findings).toEqual([]);
}

/** Colours and places are judged as they are: an animation must have ended. */
async function animationsEnded(page: Page): Promise<void> {
  await page.evaluate(() => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    return Promise.all(ending.map(({ finished }) => finished.catch(() => null)));
  });
}

/** The markup, and of each element its place and its style without colours: what all other rules look at. */
export async function structureOf(page: Page): Promise<string> {
  await animationsEnded(page);
  return await page.evaluate(() => {
    const lines: string[] = [];
    const add = (root: Document | ShadowRoot): void => {
      for (const element of root.querySelectorAll('*')) {
        const { x, y, width, height } = element.getBoundingClientRect();
        const {
          display,
          visibility,
          opacity,
          overflow,
          pointerEvents,
          font,
          textDecorationLine,
          letterSpacing,
          zIndex,
        } = getComputedStyle(element);
        const style = [
          display,
          visibility,
          opacity,
          overflow,
          pointerEvents,
          font,
          textDecorationLine,
          letterSpacing,
          zIndex,
        ];
        lines.push([element.tagName, x, y, width, height, ...style].join(' '));
        if (element.shadowRoot) {
          lines.push(element.shadowRoot.innerHTML);
          add(element.shadowRoot);
        }
      }
    };
    add(document);
    return `${document.documentElement.outerHTML}\n${lines.join('\n')}`;
  });
}
