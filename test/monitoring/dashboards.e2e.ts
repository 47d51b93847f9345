import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import request from 'supertest';
import { installPrometheus } from '../../scripts/lib/monitoring-tools.mjs';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { freePort } from '../support/servers/free-port.js';
import { type Line, pageOf } from './dashboard-picture.js';
import { DASHBOARDS, metricsOf, type Panel, RECORDED, RULE_EXPRESSIONS, RULES } from './dashboards.js';

/** Series of Prometheus itself. */
const OWN = new Set(['up', 'ALERTS']);

/** Panels that show nothing while all is well, or of what the test does not do. */
const MAY_BE_EMPTY = new Set([
  'Age of the last backup',
  'Alerts over time',
  'Engine failures and fallbacks',
  'Failed requests',
  'Failed tasks of the reconciler',
  'Links',
  'Mails',
  'Refused by a quota',
  'Words left out',
]);

/** Set to a folder, it gets a picture of each dashboard, after so many seconds of load. */
const { DASHBOARD_PICTURES: pictures, DASHBOARD_SECONDS: seconds = '12' } = process.env;

const backups = mkdtempSync(join(tmpdir(), 'voice-notes-backups-'));
afterAll(() => rmSync(backups, { recursive: true, force: true }));

/** Neither sends mails nor makes backups in this test, but has the metrics of both. */
const OPTIONAL = {
  BACKUP_DESTINATION: backups,
  SMTP_URL: 'smtp://127.0.0.1:9',
  SMTP_FROM: 'notes@example.com',
  PUBLIC_URL: 'https://notes.example.com',
};

const service = useService(OPTIONAL);
let client: ApiClient;
let receiver: WebhookReceiver;

beforeAll(async () => {
  client = await service.account();
  receiver = await WebhookReceiver.listen();
});
afterAll(() => receiver.close());

describe('the metrics that rules and dashboards read', () => {
  const NAMES = {
    counter: [''],
    gauge: [''],
    histogram: ['_bucket', '_sum', '_count'],
    summary: ['', '_sum', '_count'],
  };

  it('are understood', () => {
    expect(
      metricsOf('sum by (a) (rate(x_total{b="c by (d)"}[5m])) / on (e) group_left () (1 - y:z) or vector(0)'),
    ).toEqual(['x_total', 'y:z']);
    expect(RULE_EXPRESSIONS).toHaveLength([...RULES.matchAll(/^ +(- record|- alert):/gm)].length);
  });

  it('are not added up where each process shows the same figure', () => {
    const shared =
      /\b(recordings_(waiting\w*|unprocessed_seconds)|deliveries_waiting_seconds|audit_unsealed_seconds|live_recordings(_waiting\w*)?|reconciler_last_round\w*)\b(?!_)/;
    const expressions = [
      ...RULE_EXPRESSIONS,
      ...DASHBOARDS.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
    ];
    const read = expressions.filter((expression) => shared.test(expression));
    expect(read.length).toBeGreaterThan(10);
    const taken = /(max|absent)\s*(by \([^)]*\) )?\($/;
    const wrong = read.filter((expression) =>
      [...expression.matchAll(new RegExp(shared, 'g'))].some(({ index }) => !taken.test(expression.slice(0, index))),
    );
    expect(wrong).toEqual([]);
  });

  it('are served by the service', async () => {
    const { text } = await request(service.url).get('/metrics').expect(200);
    const served = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name, type]) =>
        NAMES[type as keyof typeof NAMES].map((end) => `${name}${end}`),
      ),
    );
    const expressions = [
      ...RULE_EXPRESSIONS,
      ...DASHBOARDS.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
    ];
    const read = new Set(expressions.flatMap(metricsOf));
    expect(read.size).toBeGreaterThan(50);
    expect([...read].filter((name) => !served.has(name) && !RECORDED.has(name) && !OWN.has(name))).toEqual([]);
  });
});

describe('the dashboards, in a Prometheus that scrapes the service', () => {
  let url: string | null = null;
  let problem: string | undefined;

  beforeAll(async () => {
    const { prometheus, problem: missing } = await installPrometheus();
    problem = missing;
    if (!prometheus) return;
    const folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
    service.environment.defer(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'rules.yaml'), RULES.replaceAll('interval: 30s', 'interval: 1s'));
    const target = new URL(service.url).host;
    const job = { job_name: 'voice-notes', static_configs: [{ targets: [target] }] };
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [job],
    };
    await writeFile(join(folder, 'prometheus.yaml'), JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${address}`,
    ];
    const server = spawn(prometheus, args, { stdio: 'ignore' });
    service.environment.defer(async () => {
      const ended = once(server, 'exit');
      if (server.kill()) await ended;
    });
    url = `http://${address}`;
    await eventually(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok);
  });

  const ask = async (
    path: string,
    parameters: Record<string, string>,
  ): Promise<{ metric: Record<string, string>; value: [number, string]; values: [number, string][] }[]> => {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
    const body = (await answer.json()) as { status: string; error?: string; data: { result: never[] } };
    if (body.status !== 'success') throw new Error(`${parameters.query}: ${body.error}`);
    return body.data.result;
  };

  const titled = (legend: string, metric: Record<string, string>): string =>
    legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '');

  /** The series of a panel since a time. */
  async function linesOf({ targets }: Panel, since: number): Promise<Line[]> {
    const all = await Promise.all(
      targets.map(async ({ expr, legendFormat }) =>
        (await ask('query_range', { query: expr, start: `${since}`, end: `${Date.now() / 1000}`, step: '1' })).map(
          ({ metric, values }): Line => ({
            name: titled(legendFormat, metric),
            points: values
              .map(([at, value]): [number, number] => [at, Number(value)])
              .filter(([, value]) => Number.isFinite(value)),
          }),
        ),
      ),
    );
    return all.flat().filter(({ points }) => points.length > 0);
  }

  /** A little of everything. */
  async function load(): Promise<void> {
    const { body: recording } = await client.upload('go-forward-ten-meters.wav').expect(201);
    await client.get('/v1/recordings').expect(200);
    await request(service.url).get('/v1/recordings').set('Authorization', 'Bearer wrong').expect(401);
    await client.finished(recording.id as string);
    await client.get(`/v1/recordings/${recording.id}/audio`);
  }

  it('parse, and show what there is', async () => {
    if (url === null) {
      console.log(`the dashboards are skipped; ${problem}`);
      return;
    }
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const since = Date.now() / 1000;
    await load();
    while (Date.now() / 1000 - since < Number(seconds)) await Promise.all([load(), delay(500)]);
    const emptyPanels = async () => {
      const states = await Promise.all(
        DASHBOARDS.flatMap(({ panels }) => panels).map(async (panel) =>
          (await linesOf(panel, since)).length === 0 ? panel.title : null,
        ),
      );
      return states.filter((title) => title !== null && !MAY_BE_EMPTY.has(title));
    };
    await eventually(async () => (await emptyPanels()).length === 0, 30_000).catch(() => undefined);
    expect(await emptyPanels()).toEqual([]);
    if (pictures) for (const dashboard of DASHBOARDS) await draw(dashboard, since);
  }, 600_000);

  async function draw(dashboard: (typeof DASHBOARDS)[number], since: number): Promise<void> {
    const lines = new Map(
      await Promise.all(dashboard.panels.map(async (panel) => [panel, await linesOf(panel, since)] as const)),
    );
    const { html, height } = pageOf(dashboard, (panel) => lines.get(panel) ?? []);
    const file = join(`${pictures}`, dashboard.uid);
    await writeFile(`${file}.html`, html);
    const browser = process.env.CHROMIUM ?? 'chromium';
    await promisify(execFile)(browser, [
      '--headless',
      '--no-sandbox',
      '--hide-scrollbars',
      `--window-size=1488,${height}`,
      `--screenshot=${file}.png`,
      `file://${file}.html`,
    ]);
  }
});

describe('each dashboard', () => {
  it.each(DASHBOARDS.map((dashboard) => [dashboard.uid, dashboard] as const))(
    '%s has panels that do not overlap, each with a description',
    (_, { panels }) => {
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (__, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(panels.filter(({ description }) => description.length < 5)).toEqual([]);
      expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    },
  );
});
