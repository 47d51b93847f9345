import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../support/paths.js';

/** A program of the client's README. */
export interface ReadmeExample {
  /** The heading above it. */
  title: string;
  code: string;
}

/** All programs of the client's README, in order. */
export async function readmeExamples(): Promise<ReadmeExample[]> {
  const text = await readFile(join(ROOT, 'sdk', 'README.md'), 'utf8');
  return text.split(/^## /m).flatMap((section) => {
    const title = section.split('\n', 1)[0] ?? '';
    return [...section.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => ({ title, code }));
  });
}

/** What the program says that it prints: the comments behind `console.log`. `…` stands for anything. */
export function announcedOutput(code: string): RegExp[] {
  return [...code.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, output = '']) => {
    const parts = output.split('…').map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(parts.join('.*'));
  });
}
