import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { installPrometheus } from '../../scripts/lib/monitoring-tools.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { ALERT_CASES } from './alert-cases.mjs';

const RULES = join(ROOT, 'docker', 'monitoring', 'rules.yaml');
const TEXT = readFileSync(RULES, 'utf8');
const RUNBOOKS = readFileSync(join(ROOT, 'docs', 'runbooks.md'), 'utf8');

/** The text of each alert, by name. */
const ALERTS = new Map(
  TEXT.split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text.split(/^ {2}- name: /m)[0]]),
);
/** The text of each section that is about an alert, by name. */
const SECTIONS = new Map(
  RUNBOOKS.split(/^### /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text.split(/^## /m)[0]]),
);

let tools;
let folder;

beforeAll(async () => {
  tools = await installPrometheus();
  folder = mkdtempSync(join(tmpdir(), 'rules-'));
}, 400_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A test with promtool; where apt cannot bring it, one that says so. */
function promtoolTest(name, work) {
  test(
    name,
    async () => {
      if (tools.problem) console.log(`${name}: skipped; ${tools.problem}`);
      else await work();
    },
    600_000,
  );
}

const promtool = (...args) =>
  new Promise((resolve) => {
    execFile(tools.promtool, args, { maxBuffer: 1e8 }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? 1) : 0, output: stdout + stderr }),
    );
  });

/** @returns {Promise<boolean>} whether promtool finds that these alerts do in these cases what is said */
async function passes(file, tests, interval = '1m') {
  const path = join(folder, file);
  // Alerts after what they read: promtool has no order of its own.
  const order = { group_eval_order: [...TEXT.matchAll(/^ {2}- name: (.+)$/gm)].map(([, name]) => name) };
  writeFileSync(path, JSON.stringify({ rule_files: [RULES], evaluation_interval: interval, ...order, tests }));
  const { code, output } = await promtool('test', 'rules', path);
  if (code !== 0) console.log(output.slice(0, 3000));
  return code === 0;
}

/** promtool reads JSON as it reads YAML. */
const testOf = (alert, { at, series, slow = false }, fires) => ({
  interval: slow ? '2m' : '1m',
  name: `${alert} ${fires ? 'fires' : 'is quiet'} at ${at}`,
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
  promql_expr_test: [
    {
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0`,
      eval_time: at,
      exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
    },
  ],
});

describe('docker/monitoring/rules.yaml', () => {
  promtoolTest('is taken by promtool', async () => {
    expect(await promtool('check', 'rules', RULES)).toMatchObject({ code: 0 });
  });

  it('has cases for each alert in which it fires and is quiet', () => {
    expect(new Set(Object.keys(ALERT_CASES))).toEqual(new Set(ALERTS.keys()));
    for (const { fires, quiet } of Object.values(ALERT_CASES)) {
      expect(fires.length).toBeGreaterThan(0);
      expect(quiet.length).toBeGreaterThan(0);
    }
  });

  const cases = Object.entries(ALERT_CASES);
  promtoolTest('each alert fires when it must, and not when it nearly must', async () => {
    const testsOf = (isSlow) =>
      cases.flatMap(([alert, { fires, quiet }]) =>
        [...fires.map((one) => [one, true]), ...quiet.map((one) => [one, false])]
          .filter(([{ slow = false }]) => slow === isSlow)
          .map(([one, isFiring]) => testOf(alert, one, isFiring)),
      );
    expect(await passes('alerts.json', testsOf(false))).toBe(true);
    expect(await passes('slow-alerts.json', testsOf(true), '20m')).toBe(true);
  });

  promtoolTest('a case that is expected wrongly fails', async () => {
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    const [alert, { fires, quiet }] = cases.at(-1);
    expect(await passes('no-alert.json', [testOf(alert, fires[0], false)])).toBe(false);
    expect(await passes('alert.json', [testOf(alert, quiet[0], true)])).toBe(false);
    log.mockRestore();
  });

  it('says of each alert what it is, how urgent, and where its page is', () => {
    for (const [name, text] of ALERTS) {
      expect([name, text]).toEqual([name, expect.stringMatching(/labels: \{ severity: (page|ticket) \}/)]);
      expect([name, text]).toEqual([name, expect.stringMatching(/summary: \S/)]);
      expect([name, text]).toEqual([name, expect.stringMatching(/description: >-\n +\S/)]);
      expect(text).toContain(`runbook_url: docs/runbooks.md#${name.toLowerCase()}\n`);
    }
  });
});

describe('docs/runbooks.md', () => {
  it('has a section for each alert, and an alert for each section', () => {
    expect([...SECTIONS.keys()]).toEqual([...ALERTS.keys()]);
  });

  it.each([...SECTIONS])('%s says what it means, what to look at, what to do and when to escalate', (_, section) => {
    const parts = [...section.matchAll(/^\*\*(.+?)\.\*\* (.+)/gm)].map(([, title]) => title);
    expect(parts).toEqual(['Meaning', 'Look at', 'Do', 'Escalate']);
  });
});
