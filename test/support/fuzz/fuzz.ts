import fc from 'fast-check';
import { complaints, flawsOf, type FuzzAnswer, oversizeComplaints } from './judgement.js';
import type { DescribedOperation } from './description.js';
import type { Plan } from './plan.js';
import { plansFor } from './random-plans.js';
import { rulePlans } from './rule-plans.js';
import type { WireRequest } from './request-builder.js';

export interface FuzzTarget {
  prepare(operation: DescribedOperation, plan: Plan): Promise<WireRequest>;
  send(request: WireRequest): Promise<FuzzAnswer>;
}

export interface FuzzReport {
  /** How often each operation was answered with each status. */
  counts: Map<string, Map<number, number>>;
  /** One for each operation that misbehaves, with the smallest request that shows it. */
  failures: string[];
  requests: number;
  /** Those among them that break the document. */
  wrong: number;
}

interface Finding {
  plan: Plan;
  request: WireRequest;
  answer: FuzzAnswer | null;
  isWrong: boolean;
  complaints: string[];
}

/** Most of a request's time is spent waiting for the database. */
const CONCURRENCY = 2;

/** Runs every operation as often as the others; the same seed makes the same requests. */
export async function fuzz(
  operations: DescribedOperation[],
  target: FuzzTarget,
  { seed, requests }: { seed: number; requests: number },
): Promise<FuzzReport> {
  const counts = new Map(operations.map(({ name }) => [name, new Map<number, number>()]));
  const report: FuzzReport = { counts, failures: [], requests: 0, wrong: 0 };
  const numRuns = Math.ceil(requests / operations.length);
  const waiting = [...operations.entries()];
  const sendAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, operation] = next;
      const failure = await fuzzOperation(operation, target, report, { seed: seed + index, numRuns });
      if (failure !== null) report.failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sendAll));
  return report;
}

/** @returns what is wrong with the operation, for people; null when nothing is */
async function fuzzOperation(
  operation: DescribedOperation,
  target: FuzzTarget,
  report: FuzzReport,
  parameters: { seed: number; numRuns: number },
): Promise<string | null> {
  let finding: Finding | null = null;
  const property = fc.asyncProperty(plansFor(operation), async (plan) => {
    const found = await examine(operation, target, plan);
    // What follows the first finding are attempts to make it smaller.
    if (!finding) count(report, operation, found);
    if (found.complaints.length > 0) finding = found;
    return found.complaints.length === 0;
  });
  const examples = rulePlans(operation).map((plan): [Plan] => [plan]);
  // The examples are the first of the runs: none of them is left out.
  const numRuns = Math.max(parameters.numRuns, examples.length);
  const { failed, errorInstance } = await fc.check(property, { ...parameters, numRuns, examples });
  if (!failed) return null;
  return finding ? describe(operation, finding) : `${operation.name}: ${String(errorInstance)}`;
}

function count(report: FuzzReport, { name }: DescribedOperation, { answer, isWrong }: Finding): void {
  report.requests++;
  if (isWrong) report.wrong++;
  const status = answer?.status ?? 0;
  const row = report.counts.get(name);
  row?.set(status, (row.get(status) ?? 0) + 1);
}

async function examine(operation: DescribedOperation, target: FuzzTarget, plan: Plan): Promise<Finding> {
  const request = await target.prepare(operation, plan);
  const { reasons, statuses } = flawsOf(operation, plan);
  const isWrong = reasons.length > 0;
  let answer: FuzzAnswer;
  try {
    answer = await target.send(request);
  } catch (error) {
    return { plan, request, answer: null, isWrong, complaints: [`no answer: ${(error as Error).message}`] };
  }
  const oversize = oversizeComplaints(request, answer);
  if (oversize) return { plan, request, answer, isWrong: true, complaints: oversize };
  const found = complaints(operation, answer);
  if (isWrong && answer.status < 400) found.push(`accepted, though it is wrong: ${reasons.join('; ')}`);
  else if (isWrong && statuses && !statuses.includes(answer.status)) {
    found.push(`answered with ${answer.status}, and ${statuses.join(' or ')} is right: ${reasons.join('; ')}`);
  }
  return { plan, request, answer, isWrong, complaints: found };
}

const MAX_SHOWN = 2000;
const cut = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

function describe({ name }: DescribedOperation, { plan, request, answer, complaints: found }: Finding): string {
  const sent = request.body ? `\n  body: ${cut(JSON.stringify(request.body.toString('utf8')))}` : '';
  return [
    `${name}\n  ${found.join('\n  ')}`,
    `  smallest request: ${request.method} ${cut(request.target)}${sent}`,
    `  as planned: ${cut(JSON.stringify(plan))}`,
    `  answer: ${answer ? `${answer.status} ${cut(answer.text)}` : 'none'}`,
  ].join('\n');
}

/** One line for each operation, one column for each status. */
export function table({ counts }: FuzzReport): string {
  const statuses = [...new Set([...counts.values()].flatMap((row) => [...row.keys()]))].toSorted((a, b) => a - b);
  const width = Math.max(...[...counts.keys()].map((name) => name.length));
  const line = (name: string, cells: (string | number)[]): string =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(6)).join('');
  return [
    line('', statuses),
    ...[...counts].map(([name, row]) =>
      line(
        name,
        statuses.map((status) => row.get(status) ?? '·'),
      ),
    ),
  ].join('\n');
}

/** Operations that were never taken, or never refused: there the run has shown nothing. */
export function untested({ counts }: FuzzReport): string[] {
  return [...counts]
    .filter(([, row]) => {
      const seen = (from: number): boolean => [...row.keys()].some((status) => status >= from && status < from + 100);
      return !seen(200) || !seen(400);
    })
    .map(([name]) => name);
}
