/**
 * For each fault of a server, a process or a clock, the protection that it is about: with that taken out of the service, a
 * run must lose something. Otherwise the run would prove nothing about the protection.
 * @typedef {{ file: string, from: string, to: string }} Edit `from` is a text that the file has exactly once
 * @typedef {{ fault: string, without: string, edits: Edit[], onS3?: boolean, size: import('../plan.mjs').Size }} Control
 * without: what the service no longer does. size: the fault at a moment when it matters, with little else.
 */

const DATABASE = 'src/platform/database';
const LEASES = 'src/modules/recordings/leases';
const WORKER = 'src/modules/transcriptions/worker';
/** As far apart as clocks of machines are that nobody sets. */
const TEN_MINUTES = 600_000;

/** @type {Control[]} */
export const CONTROLS = [
  {
    fault: 'freeze postgres',
    without: 'a connection whose statement got no answer in time is closed',
    edits: [
      {
        file: `${DATABASE}/data-source.ts`,
        from: 'if (isQueryTimeout(error)) this.end(() => undefined);',
        to: 'isQueryTimeout(error);',
      },
    ],
    size: {
      uploads: 40,
      loadSeconds: 55,
      faults: [{ at: 8000, kind: 'freeze postgres', seconds: 40 }],
      clocks: {},
    },
  },
  {
    fault: 'demote redis',
    without: 'workers look for due recordings by themselves, and not only when a job says so',
    edits: [
      {
        file: `${WORKER}/transcription-worker.service.ts`,
        from: 'this.poll = setInterval(() => void this.wake(), POLL_MS)',
        to: 'this.poll = undefined',
      },
      {
        file: `${WORKER}/transcription-worker.service.ts`,
        from: 'this.running.delete(run);\n        void this.wake();',
        to: 'this.running.delete(run);',
      },
    ],
    size: {
      uploads: 24,
      loadSeconds: 12,
      faults: [{ at: 6000, kind: 'demote redis', seconds: 12 }],
      clocks: {},
    },
  },
  {
    fault: 'freeze worker',
    without: 'a worker that has lost its lease stops, and only the first result for the holder of the lease is saved',
    edits: [
      {
        file: 'src/platform/concurrency/lease-loops.ts',
        from: 'if (!(await renew().catch(() => true))) lost.abort(new LeaseLostError());',
        to: 'await renew().catch(() => true);',
      },
      {
        file: `${LEASES}/recording-leases.queries.ts`,
        from: 'WHERE id = $1 AND ${IS_UNFINISHED}\n       AND CASE WHEN $2::uuid IS NULL THEN lease_until < now() ELSE lease_token = $2 END FOR UPDATE',
        to: 'WHERE id = $1 AND ($2::uuid IS NOT NULL OR ${IS_UNFINISHED} AND lease_until < now()) FOR UPDATE',
      },
      {
        file: `${LEASES}/recording-leases.queries.ts`,
        from: 'run = run + CASE WHEN rerun IS NULL THEN 0 ELSE 1 END, rerun = NULL, rerun_at = NULL,',
        to: "run = run + CASE WHEN status = 'processing' THEN 0 ELSE 1 END, rerun = NULL, rerun_at = NULL,",
      },
    ],
    size: {
      uploads: 16,
      loadSeconds: 1,
      // Long enough for the other worker to take over on a busy machine, and shorter than the lease of a delivery.
      faults: [{ at: 100, kind: 'freeze busy worker', seconds: 25 }],
      clocks: {},
    },
  },
  {
    fault: 'hang store',
    without: 'an object that may have been stored without an answer is removed',
    edits: [
      {
        file: 'src/platform/storage/object-removals.service.ts',
        from: 'if (mayArriveLate) return await this.store.remove(key);',
        to: 'if (mayArriveLate) return void (await this.removals.delete({ objectKey: key }));',
      },
    ],
    onS3: true,
    size: {
      uploads: 38,
      loadSeconds: 76,
      faults: [{ at: 2000, kind: 'hang store', seconds: 20 }],
      clocks: {},
    },
  },
  {
    fault: 'clocks',
    without: 'Postgres writes the time at which a delivery is due',
    edits: [
      {
        file: 'src/modules/webhooks/deliveries/deliveries.service.ts',
        from: "nextAttemptAt: () => 'now()',",
        to: 'nextAttemptAt: new Date(),',
      },
    ],
    size: { uploads: 30, loadSeconds: 15, faults: [], clocks: { 'api-2': -TEN_MINUTES, 'worker-2': TEN_MINUTES } },
  },
];
