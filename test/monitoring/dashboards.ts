import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MONITORING = join(__dirname, '..', '..', 'docker', 'monitoring');

export interface Panel {
  title: string;
  type: string;
  description: string;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig: { defaults: { unit: string; max?: number } };
  targets: { expr: string; legendFormat: string }[];
}

export interface Dashboard {
  uid: string;
  title: string;
  panels: Panel[];
}

export const RULES = readFileSync(join(MONITORING, 'rules.yaml'), 'utf8');

export const DASHBOARDS = readdirSync(join(MONITORING, 'dashboards')).map(
  (file) => JSON.parse(readFileSync(join(MONITORING, 'dashboards', file), 'utf8')) as Dashboard,
);

/** The expressions of the rules: one line, or a block that is folded. */
export const RULE_EXPRESSIONS = [...RULES.matchAll(/^ {8}expr: (?:>-\n((?: {10}.+\n)+)|(.+)$)/gm)].map(
  ([, block, line]) => (block ?? line ?? '').trim(),
);

/** What the rules record. */
export const RECORDED = new Set([...RULES.matchAll(/^ {6}- record: (\S+)$/gm)].map(([, name]) => name as string));

/** Words of PromQL that are no metrics. */
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'by', 'on', 'ignoring', 'without', 'group_left', 'group_right']);

/** The metrics that an expression reads. */
export function metricsOf(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replace(/"[^"]*"/g, ' ');
  return [...bare.matchAll(/[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !WORDS.has(name) && !/^(inf|nan)$/i.test(name));
}
