import type { DatabaseService, SqlRunner } from '../../../src/platform/database/database.service.js';

/** A node of a plan, as EXPLAIN tells it. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** What a statement has cost, independent of the machine and of what else runs on it. */
export interface StatementCost {
  /** Pages of 8 KiB that it has looked at. */
  pages: number;
  indexes: string[];
  /** Tables that it has read from one end to the other. */
  scanned: string[];
}

class RolledBack extends Error {
  override readonly name = 'RolledBack';
}

/** Runs `work`, which makes one statement, as EXPLAIN ANALYZE, and undoes it. */
export async function costOf(
  database: DatabaseService,
  work: (runner: SqlRunner) => Promise<unknown>,
): Promise<StatementCost> {
  let plan: PlanNode | undefined;
  const explain =
    (runner: SqlRunner) =>
    async (sql: string, parameters: unknown[] = []) => {
      const [row] = await runner.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
        parameters,
      );
      plan = row?.['QUERY PLAN'][0].Plan;
      throw new RolledBack();
    };
  await database
    .transact(async (tx) => {
      const run = explain(tx);
      await work({ query: run, prepared: run });
    })
    .catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
  if (!plan) throw new Error('no statement was made');
  const nodes = [...nodesOf(plan)];
  return {
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))],
    scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
  };
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
