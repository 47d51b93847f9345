import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import ipaddr from 'ipaddr.js';

import { installChartTools } from '../../scripts/lib/chart-tools.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { readEnv } from '../../src/platform/config/env.js';
import { DATABASE_ROLES } from '../../src/platform/database/grants.js';
import { isForbiddenAddress } from '../../src/platform/http/outgoing/address-rules.js';

const CHART = join(ROOT, 'docker', 'chart');
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const SECRET_KEY = 'vM2cQ8zLr0TtYx5Wn7BfKd3HsPjGaEuR1iO6lXbZqNk=';
const ROLES = ['api', 'transcriber', 'deliverer'];

/** What each set of values needs beside it. */
const SETS = {
  'one-machine': { bundled: { seed: 'a text of our own' }, secrets: { values: { SECRET_KEY } } },
  small: {
    secrets: {
      values: {
        SECRET_KEY,
        REDIS_URL: 'rediss://:secret@redis.example.com:6379',
        STORAGE_KEY: `${SECRET_KEY}y`,
        S3_ACCESS_KEY_ID: 'id',
        S3_SECRET_ACCESS_KEY: 'secret',
        METRICS_TOKEN: 'a token of 16 characters',
        OIDC_PROVIDERS: '[]',
      },
    },
    database: { passwords: { owner: 'o', api: `a p/w: "+@"`, transcriber: 't', deliverer: 'd' } },
  },
  large: {},
  'air-gapped': {},
};
/** A scaler of which no set makes use, and everything that is optional. */
const OTHERS = {
  large: {
    transcriber: {
      autoscaling: { via: 'adapter' },
      appArmorProfile: { type: 'Unconfined' },
      nodeSelector: { pool: 'transcribers' },
      tolerations: [{ key: 'transcribers', operator: 'Exists' }],
      priorityClassName: 'high',
      podAnnotations: { a: 'b' },
    },
    api: { extraEnv: [{ name: 'OWN', value: 'of an extension' }] },
    caCertificates: { configMap: 'example-ca' },
    admin: { enabled: true },
    backup: { enabled: true },
    config: { BACKUP_DESTINATION: 's3://backups/voice-notes' },
    image: { pullSecrets: ['registry'] },
  },
};

let tools;
let folder;
let parse;
const rendered = new Map();

/** A test with Helm; where npm cannot bring it, one that says so. */
function chartTest(name, work) {
  test(
    name,
    async () => {
      if (tools.problem) console.log(`${name}: skipped; ${tools.problem}`);
      else await work();
    },
    240_000,
  );
}

beforeAll(async () => {
  tools = await installChartTools();
  folder = mkdtempSync(join(tmpdir(), 'chart-'));
  if (!tools.problem) ({ parseAllDocuments: parse } = createRequire(`${tools.folder}/`)('yaml'));
}, 200_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program, args, input) {
  return new Promise((resolve) => {
    const homes = Object.fromEntries(['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, folder]));
    const options = { maxBuffer: 1e8, cwd: ROOT, env: { ...process.env, ...homes, HELM: tools.helm } };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
    );
    child.stdin.end(input);
  });
}

/** Arguments for a set of values and others on top of it. */
function valuesOf(set, ...others) {
  const files = [SETS[set], ...others].map((values) => {
    const text = JSON.stringify(values);
    const file = join(folder, `${Buffer.from(text).toString('base64url').slice(-60)}-${text.length}.json`);
    writeFileSync(file, text);
    return file;
  });
  return [join(CHART, 'values', `${set}.yaml`), ...files].flatMap((file) => ['--values', file]);
}

const helm = (command, args) => run(tools.helm, [command, ...args]);

/** The objects of a release. */
async function render(set, { release = 'notes', values = {} } = {}) {
  const key = JSON.stringify([set, release, values]);
  if (!rendered.has(key)) {
    const args = [release, CHART, '--namespace', 'voice', ...valuesOf(set, values)];
    const { code, stdout, stderr } = await helm('template', args);
    if (code !== 0) throw new Error(stderr);
    const objects = parse(stdout).map((document) => document.toJS());
    rendered.set(
      key,
      objects.filter((object) => object !== null),
    );
  }
  return rendered.get(key);
}

const of = (objects, kind) => objects.filter((object) => object.kind === kind);
const named = (objects, kind, name) => of(objects, kind).find(({ metadata }) => metadata.name === name);
const podsOf = (objects) =>
  objects
    .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
    .map(({ metadata, spec }) => ({
      name: metadata.name,
      volumeClaimTemplates: spec.volumeClaimTemplates,
      ...spec.template,
    }));
const containersOf = ({ spec }) => [...(spec.initContainers ?? []), ...spec.containers];
const deploymentOf = (objects, role) => named(objects, 'Deployment', `notes-${role}`);
const environmentOf = (container) => Object.fromEntries(container.env.map(({ name, value }) => [name, value]));

async function everySet() {
  const objects = await Promise.all(Object.keys(SETS).map((set) => render(set)));
  return [
    ...objects.map((list, i) => [Object.keys(SETS)[i], list]),
    ['others', await render('large', { values: OTHERS.large })],
  ];
}

describe('docker/chart', () => {
  chartTest('passes helm lint --strict with each set of values', async () => {
    for (const set of Object.keys(SETS)) {
      const { code, stdout, stderr } = await helm('lint', ['--strict', CHART, ...valuesOf(set)]);
      expect({ set, code, output: code === 0 ? '' : stdout + stderr }).toEqual({ set, code: 0, output: '' });
    }
  });

  chartTest('makes objects that Kubernetes knows, with no field that it does not', async () => {
    const all = (await everySet()).flatMap(([, objects]) => objects);
    expect(all.length).toBeGreaterThan(80);
    const broken = structuredClone(deploymentOf(all, 'api'));
    broken.spec.template.spec.containers[0].livenesProbe = {};
    broken.spec.replicas = 'many';
    const check = [join(ROOT, 'test', 'chart', 'check-objects.mjs'), tools.folder];
    const { stdout, stderr } = await run(process.execPath, check, JSON.stringify([...all, broken]));
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([
      'Deployment notes-api/spec/replicas: type {"type":"integer"}',
      'Deployment notes-api/spec/template/spec/containers/0/livenesProbe: unknown field',
    ]);
  });

  chartTest('gives each role its own secrets, and no others', async () => {
    const all = [
      'DATABASE_URL',
      'REDIS_URL',
      'S3_ACCESS_KEY_ID',
      'S3_SECRET_ACCESS_KEY',
      'METRICS_TOKEN',
      'STORAGE_KEY',
    ];
    const expected = {
      owner: ['DATABASE_URL'],
      api: [...all, 'SECRET_KEY', 'OIDC_PROVIDERS'],
      transcriber: all,
      deliverer: [...all, 'SECRET_KEY'],
    };
    const objects = await render('small');
    for (const [role, keys] of Object.entries(expected)) {
      const secret = named(objects, 'Secret', `notes-${role}`).stringData;
      expect(new Set(Object.keys(secret))).toEqual(new Set(keys));
      const { username, password, hostname } = new URL(secret.DATABASE_URL);
      expect(username).toBe({ owner: 'voice_notes_owner', ...DATABASE_ROLES }[role]);
      expect([decodeURIComponent(password), hostname]).toEqual([
        SETS.small.database.passwords[role],
        'postgres.example.com',
      ]);
      if (role === 'owner') continue;
      const { spec } = deploymentOf(objects, role).spec.template;
      const { secret: volume } = spec.volumes.find(({ name }) => name === 'secrets');
      expect(volume.secretName).toBe(`notes-${role}`);
      expect(new Set(volume.items.map(({ key }) => key))).toEqual(new Set(keys));
      for (const container of [...spec.initContainers, ...spec.containers]) {
        const files = container.env.flatMap(({ name }) => (name.endsWith('_FILE') ? name.slice(0, -5) : []));
        expect(new Set(files)).toEqual(new Set(keys));
        expect(JSON.stringify(container)).not.toMatch(/secretKeyRef|envFrom/);
      }
    }
    const [job] = of(objects, 'Job');
    expect(JSON.stringify(job)).not.toContain('SECRET_KEY"');
    expect(job.spec.template.spec.volumes[0].secret).toMatchObject({ secretName: 'notes-owner' });
  });

  chartTest('with a proxy it is the way out of all that call others, and public addresses are closed', async () => {
    const values = {
      secrets: {
        values: {
          EGRESS_PROXY_URL: 'http://user:secret@proxy:3128',
          OPENAI_API_KEY: 'sk',
          OPENAI_CLIENT_CERT: 'c',
          OPENAI_CLIENT_KEY: 'k',
          WEBHOOK_CLIENT_CERT: 'c',
          WEBHOOK_CLIENT_KEY: 'k',
        },
      },
      config: { TRANSCRIPTION_ENGINE: 'openai', SHERPA_MODEL: '' },
      networkPolicy: { to: { proxy: [{ ipBlock: { cidr: '10.9.9.9/32' } }], proxyPorts: [3128] } },
    };
    const objects = await render('small', { values });
    for (const role of ROLES) {
      const { egress } = named(objects, 'NetworkPolicy', `notes-${role}`).spec;
      const proxies = egress.filter(({ to }) => to.some(({ ipBlock }) => ipBlock?.cidr === '10.9.9.9/32'));
      expect(proxies).toEqual([
        { to: [{ ipBlock: { cidr: '10.9.9.9/32' } }], ports: [{ protocol: 'TCP', port: 3128 }] },
      ]);
      expect(JSON.stringify(egress)).not.toContain('0.0.0.0/0');
      const secret = named(objects, 'Secret', `notes-${role}`).stringData;
      expect(secret.EGRESS_PROXY_URL).toBe('http://user:secret@proxy:3128');
      expect(Object.keys(secret).filter((name) => name.endsWith('_CLIENT_KEY'))).toEqual([
        role === 'transcriber' ? 'OPENAI_CLIENT_KEY' : 'WEBHOOK_CLIENT_KEY',
      ]);
    }
  });

  chartTest('a KMS is reached by every role, each with the token, and needs no STORAGE_KEY', async () => {
    const kms = [{ ipBlock: { cidr: '10.8.8.8/32' } }];
    const values = {
      secrets: { values: { STORAGE_KEY: '', STORAGE_KMS_TOKEN: 'hvs.token' } },
      config: {
        STORAGE_ENCRYPTION: 'kms',
        STORAGE_KMS_URL: 'https://vault.internal:8200/v1/transit/keys/voice-notes',
      },
      networkPolicy: { to: { kms } },
    };
    const objects = await render('small', { values });
    for (const role of ROLES) {
      const { egress } = named(objects, 'NetworkPolicy', `notes-${role}`).spec;
      expect(egress).toContainEqual({ to: kms, ports: [{ protocol: 'TCP', port: 8200 }] });
      expect(named(objects, 'Secret', `notes-${role}`).stringData).toMatchObject({ STORAGE_KMS_TOKEN: 'hvs.token' });
    }
    expect(JSON.stringify(named(objects, 'NetworkPolicy', 'notes-migrate'))).not.toContain('10.8.8.8');
  });

  chartTest('the admin pod makes and reads backups, as the runbooks say', async () => {
    const backups = [{ ipBlock: { cidr: '10.7.7.7/32' } }];
    const values = {
      admin: { enabled: true },
      secrets: { values: { BACKUP_S3_ACCESS_KEY_ID: 'id', BACKUP_S3_SECRET_ACCESS_KEY: 'secret' } },
      config: { BACKUP_DESTINATION: 's3://backups/notes', BACKUP_S3_ENDPOINT: 'https://s3.example.com' },
      networkPolicy: { to: { backups } },
    };
    const objects = await render('small', { values });
    const pod = { name: 'notes-admin', ...deploymentOf(objects, 'admin').spec.template };
    expect(readEnv(withSecrets(pod.spec.containers[0], pod, objects))).toMatchObject({
      backupDestination: 's3://backups/notes',
      backupS3AccessKeyId: 'id',
      backupS3SecretAccessKey: 'secret',
    });
    for (const name of ['notes-admin', 'notes-deliverer']) {
      const { egress } = named(objects, 'NetworkPolicy', name).spec;
      expect(egress).toContainEqual({ to: backups, ports: [{ protocol: 'TCP', port: 443 }] });
    }
    expect(named(objects, 'Secret', 'notes-api').stringData).not.toHaveProperty('BACKUP_S3_ACCESS_KEY_ID');
  });

  chartTest('the OpenAI key is for transcribers; the others know that there is one', async () => {
    const values = {
      secrets: { values: { OPENAI_API_KEY: 'sk' } },
      config: { TRANSCRIPTION_ENGINE: 'openai', SHERPA_MODEL: '' },
    };
    const objects = await render('small', { values });
    expect(named(objects, 'Secret', 'notes-transcriber').stringData.OPENAI_API_KEY).toBe('sk');
    for (const role of ['api', 'deliverer']) {
      expect(named(objects, 'Secret', `notes-${role}`).stringData).not.toHaveProperty('OPENAI_API_KEY');
      const [container] = deploymentOf(objects, role).spec.template.spec.containers;
      expect(environmentOf(container)).toMatchObject({ OPENAI_API_KEY: 'held-by-the-transcribers' });
    }
  });

  chartTest('sets variables that the service reads, and all that it requires', async () => {
    const known = namesOfVariables();
    // Node's own.
    known.add('NODE_EXTRA_CA_CERTS').add('OWN');
    for (const [set, objects] of await everySet()) {
      for (const pod of podsOf(objects)) {
        const container = pod.spec.containers[0];
        if (container.name === 'postgres' || container.name === 'redis') continue;
        const names = container.env.map(({ name }) => name.replace(/_FILE$/, ''));
        expect({ set, pod: pod.name, unknown: names.filter((name) => !known.has(name)) }).toMatchObject({
          unknown: [],
        });
        expect(new Set(names).size).toBe(names.length);
        const variables = withSecrets(container, pod, objects);
        const env = readEnv(variables);
        const role = pod.metadata.labels['app.kubernetes.io/component'];
        expect(env.roles).toEqual([{ migrate: 'transcriber', admin: 'api', backup: 'deliverer' }[role] ?? role]);
        expect(env).toMatchObject({
          nodeEnv: 'production',
          metricsToken: role === 'migrate' ? null : expect.anything(),
        });
      }
    }
  });

  test('takes every variable of the service but secrets and what it sets itself', () => {
    const schema = JSON.parse(read('docker/chart/values.schema.json'));
    const secrets = [...read('src/platform/config/env-reader.ts').matchAll(/^ {2}'([A-Z0-9_]+)',$/gm)].map(
      ([, name]) => name,
    );
    expect(secrets).toHaveLength(25);
    const itself = new Set(['HOST', 'MODELS_FOLDER', 'MODELS_URL', 'NODE_ENV', 'PORT', 'ROLES', 'STORAGE_DIR']);
    const names = [...namesOfVariables()].filter((name) => !secrets.includes(name) && !itself.has(name));
    expect(new Set(schema.definitions.config.propertyNames.enum)).toEqual(new Set(names));
    const known = Object.keys(schema.properties.secrets.properties.values.properties);
    expect(new Set([...known, 'DATABASE_URL', 'HF_TOKEN'])).toEqual(new Set(secrets));
  });

  chartTest('takes `off` without quotes, which YAML reads as false', async () => {
    const names = [...read('src/platform/config/env.ts').matchAll(/\('([A-Z_]+)', \[[^\]]*'off'[^\]]*\]/g)].map(
      ([, name]) => name,
    );
    expect(names).toHaveLength(3);
    // An engine, or `off`.
    names.push('LIVE_ENGINE');
    const values = { config: Object.fromEntries(names.map((name) => [name, false])) };
    const [container] = deploymentOf(await render('one-machine', { values }), 'transcriber').spec.template.spec
      .containers;
    expect(environmentOf(container)).toMatchObject(Object.fromEntries(names.map((name) => [name, 'off'])));
  });

  test('creates the roles of Postgres, and runs Postgres and Redis, as compose does', () => {
    expect(read('docker/chart/files/roles.sql')).toBe(read('docker/roles.sql'));
    const compose = read('docker/compose.yaml');
    for (const [, image] of read('docker/chart/values.yaml').matchAll(/^ {4}image: (.+)$/gm))
      expect(compose).toContain(image);
    const { version } = JSON.parse(read('package.json'));
    expect(read('docker/chart/Chart.yaml')).toContain(`\nappVersion: ${version}\n`);
  });

  chartTest('lets nothing but the service talk, and the service with nobody else', async () => {
    for (const [set, objects] of await everySet()) {
      const policies = of(objects, 'NetworkPolicy');
      for (const pod of podsOf(objects)) {
        const own = policies.filter(({ spec }) => selects(spec.podSelector, pod.metadata.labels));
        expect({ set, pod: pod.name, policies: own.length }).toEqual({ set, pod: pod.name, policies: 1 });
        expect(own[0].spec.policyTypes).toEqual(['Ingress', 'Egress']);
        // A rule without peers would allow everybody.
        for (const { from, to } of [...own[0].spec.ingress, ...own[0].spec.egress]) {
          expect((from ?? to).length).toBeGreaterThan(0);
        }
      }
    }
    const reachable = async (set, role, address) =>
      named(await render(set), 'NetworkPolicy', `notes-${role}`).spec.egress.some(({ to, ports }) =>
        to.some(({ ipBlock }) => ipBlock && !ports && isInBlock(address, ipBlock)),
      );
    const special = ['10.1.2.3', '169.254.169.254', '100.64.1.1', '172.31.0.1', '192.168.1.1', '127.0.0.1', '0.0.0.1'];
    special.push(
      '224.0.0.1',
      '255.255.255.255',
      '::1',
      'fc00::1',
      'fe80::1',
      'ff02::1',
      '2002:a00::1',
      '2001::1',
      '64:ff9b::1',
    );
    for (const role of ['api', 'deliverer']) {
      for (const address of special) {
        expect([address, isForbiddenAddress(address), await reachable('small', role, address)]).toEqual([
          address,
          true,
          false,
        ]);
      }
      expect(await reachable('small', role, '93.184.215.14')).toBe(true);
      expect(await reachable('small', role, '2606:2800:21f:cb07::1')).toBe(true);
      expect(await reachable('air-gapped', role, '93.184.215.14')).toBe(false);
      // WEBHOOK_ALLOWED_CIDRS
      expect(await reachable('air-gapped', role, '10.1.2.3')).toBe(true);
    }
    expect(await reachable('one-machine', 'transcriber', '93.184.215.14')).toBe(false);
    expect(named(await render('one-machine'), 'NetworkPolicy', 'notes-postgres').spec.egress).toEqual([]);
  });

  chartTest('isolates every pod as the Pod Security Standard "restricted" wants it, and more', async () => {
    for (const [, objects] of await everySet()) {
      for (const pod of podsOf(objects)) {
        const { spec } = pod;
        expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
        expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        expect(spec.securityContext.runAsUser).toBeGreaterThan(0);
        for (const key of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec).not.toHaveProperty(key);
        expect(spec.volumes.filter(({ hostPath }) => hostPath)).toEqual([]);
        for (const container of containersOf(pod)) {
          expect(container.securityContext).toMatchObject({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(container.resources).toMatchObject({
            requests: { cpu: expect.any(String), memory: expect.any(String) },
            limits: { memory: expect.any(String) },
          });
        }
        const mounts = containersOf(pod).flatMap((container) => container.volumeMounts.map(({ name }) => name));
        const claims = pod.volumeClaimTemplates ?? [];
        const volumes = [...spec.volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
        expect(new Set(mounts)).toEqual(new Set(volumes));
      }
    }
  });

  chartTest('stops pods after the service had its time, and asks it where it answers', async () => {
    const [, stopMs] = /STOP_MS = ([\d_]+);/.exec(read('src/commands/serve.ts'));
    const stop = Number(stopMs.replaceAll('_', '')) / 1000;
    const controller = read('src/modules/health/health.controller.ts');
    const [, health] = controller.split('@Controller(');
    const paths = [...health.matchAll(/@Get\('(\w+)'\)/g)].map(([, path]) => `/health/${path}`);
    for (const [, objects] of await everySet()) {
      for (const role of ROLES) {
        const { spec } = deploymentOf(objects, role).spec.template;
        const [container] = spec.containers;
        const delay = container.env.find(({ name }) => name === 'SHUTDOWN_DELAY_SECONDS')?.value;
        expect(delay).toBe(role === 'api' ? '5' : undefined);
        expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(delay ?? 0) + stop);
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
          expect(paths).toContain(container[probe].httpGet.path);
          expect(container.ports).toContainEqual({ name: container[probe].httpGet.port, containerPort: 3000 });
        }
        const budget = named(objects, 'PodDisruptionBudget', `notes-${role}`);
        expect(selects(budget.spec.selector, deploymentOf(objects, role).spec.template.metadata.labels)).toBe(true);
      }
      const monitor = of(objects, 'ServiceMonitor')[0];
      if (monitor) expect(monitor.spec.endpoints[0].path).toBe(`/${/@Controller\('(metrics)'\)/.exec(controller)[1]}`);
    }
    const { properties } = JSON.parse(read('docker/chart/values.schema.json'));
    for (const role of ROLES) expect(properties[role].properties.gracePeriodSeconds.minimum).toBeGreaterThan(5 + stop);
  });

  chartTest('brings the rules and dashboards of docker/monitoring where they are wanted, as they are', async () => {
    const objects = await render('large');
    const [rule] = of(objects, 'PrometheusRule');
    expect(rule.spec).toEqual(parse(read('docker/monitoring/rules.yaml'))[0].toJS());
    const { metadata, data } = named(objects, 'ConfigMap', 'notes-dashboards');
    expect(metadata.labels.grafana_dashboard).toBe('1');
    const files = readdirSync(join(ROOT, 'docker/monitoring/dashboards'));
    expect(data).toEqual(Object.fromEntries(files.map((file) => [file, read(`docker/monitoring/dashboards/${file}`)])));
    const [monitor] = of(objects, 'ServiceMonitor');
    expect(named(objects, 'Service', 'notes-metrics').metadata.labels[monitor.spec.jobLabel]).toBe('voice-notes');
    expect(read('docker/monitoring/rules.yaml')).toContain('job="voice-notes"');
    expect(of(await render('small'), 'PrometheusRule')).toEqual([]);
    expect(named(await render('small'), 'ConfigMap', 'notes-dashboards')).toBeUndefined();
  });

  chartTest('scales transcribers by the audio that waits, and then says no number', async () => {
    const metric = 'recordings_waiting_audio_seconds';
    expect(read('src/modules/recordings/leases/recording-queue-metrics.service.ts')).toContain(`'${metric}'`);
    const keda = await render('large');
    const [{ spec }] = of(keda, 'ScaledObject');
    expect(spec.triggers[0].metadata.query).toBe(`max(${metric}{namespace="voice",service="notes-metrics"})`);
    expect(named(keda, 'Service', 'notes-metrics').spec.clusterIP).toBe('None');
    const adapter = await render('large', { values: OTHERS.large });
    expect(of(adapter, 'HorizontalPodAutoscaler')[0].spec.metrics[0].external.metric.name).toBe(metric);
    for (const objects of [keda, adapter]) {
      expect(deploymentOf(objects, 'transcriber').spec).not.toHaveProperty('replicas');
      for (const name of ['api', 'deliverer']) expect(deploymentOf(objects, name).spec.replicas).toBeGreaterThan(1);
    }
  });

  chartTest('migrates without waiting for what waits for it, and pods wait for the schema', async () => {
    for (const [, objects] of await everySet()) {
      expect(JSON.stringify(objects)).not.toContain('helm.sh/hook');
      for (const role of ROLES) {
        const [schema] = deploymentOf(objects, role).spec.template.spec.initContainers;
        expect(schema.command).toEqual(['node', 'dist/commands/migrate.js', '--wait', '600']);
      }
    }
    expect(read('src/commands/migrate-program.ts')).toContain("'--wait <seconds>'");
    const [job] = of(await render('one-machine'), 'Job');
    expect(job.spec.template.spec.initContainers[0].args[0]).toMatch(/^until pg_isready/);
    // Migrations go past PgBouncer.
    const [behindPooler] = of(await render('large'), 'Job');
    expect(JSON.stringify(behindPooler)).not.toContain('DATABASE_POOLER');
    expect(read('docker/chart/templates/migrate.yaml')).toMatch(/name: .*-migrate-.*\.Release\.Revision.* \$pod/);
  });

  chartTest('an upgrade changes nothing that cannot be changed', async () => {
    const upgrades = {
      image: { tag: 'next' },
      migration: { backoffLimit: 3 },
      storage: { spoolSize: '1Gi' },
      secrets: { values: { SECRET_KEY: `${SECRET_KEY}x` } },
      ...Object.fromEntries(ROLES.map((role) => [role, { config: { LOG_LEVEL: 'debug' }, gracePeriodSeconds: 60 }])),
      config: { EVENT_RETENTION_DAYS: 60 },
    };
    for (const set of ['one-machine', 'small']) {
      const [before, after] = [await render(set), await render(set, { values: upgrades })];
      expect(deploymentOf(after, 'api').spec.template).not.toEqual(deploymentOf(before, 'api').spec.template);
      const pairs = before.map((object) => [object, named(after, object.kind, object.metadata.name)]);
      // The Job goes, and another comes.
      expect(pairs.flatMap(([{ kind }, next]) => (next ? [] : kind))).toEqual(['Job']);
      for (const [object, next] of pairs) if (next) expect(immutableParts(next)).toEqual(immutableParts(object));
      const again = await render(set, { values: { admin: { enabled: false } } });
      expect(of(again, 'Job')[0].metadata.name).toBe(of(before, 'Job')[0].metadata.name);
    }
  });

  chartTest('names are short, and two releases of a namespace have none in common', async () => {
    const long = 'voice-notes-of-a-department-with-a-rather-long-name-1';
    expect(long).toHaveLength(53);
    const releases = ['notes', 'notes-api', 'notes-migrate', long, `${long.slice(0, -1)}2`];
    const seen = new Map();
    const pods = [];
    for (const release of releases) {
      for (const object of await render('one-machine', { release })) {
        const { name, labels } = object.metadata;
        expect({ name, isShort: name.length <= 63 }).toEqual({ name, isShort: true });
        for (const label of Object.values(labels)) expect(label.length).toBeLessThanOrEqual(63);
        const key = `${object.kind} ${name}`;
        expect({ key, of: seen.get(key) }).toEqual({ key, of: undefined });
        seen.set(key, release);
      }
      pods.push(...podsOf(await render('one-machine', { release })).map((pod) => [release, pod.metadata.labels]));
    }
    for (const release of releases) {
      const objects = await render('one-machine', { release });
      const selectors = [
        ...of(objects, 'Service').map(({ spec }) => ({ matchLabels: spec.selector })),
        ...of(objects, 'NetworkPolicy').map(({ spec }) => spec.podSelector),
        ...of(objects, 'Deployment').map(({ spec }) => spec.selector),
      ];
      for (const selector of selectors) {
        const owners = pods.flatMap(([owner, labels]) => (selects(selector, labels) ? owner : []));
        expect(new Set(owners)).toEqual(new Set([release]));
      }
    }
  });

  chartTest('the commands of its README render', async () => {
    const commands = [...read('docker/chart/README.md').matchAll(/^helm install (?:[^\n\\]|\\\n)*/gm)].map(
      ([line]) => line,
    );
    expect(commands).toHaveLength(4);
    for (const command of commands) {
      const line = command
        .replace(/^helm install/, '"$HELM" template')
        .replaceAll(/\$\(openssl [^)]*\)/g, SECRET_KEY)
        .replaceAll('\\\n', ' ');
      const { code, stderr } = await run('sh', ['-c', `${line} >/dev/null`]);
      expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: '' });
    }
  });
});

/** Values on top of a set, and the sentence that says what to do. */
const IMPOSSIBLE = [
  [
    'one-machine',
    { api: { replicas: 2 } },
    /bundled Postgres is for one machine, and api\.replicas is 2: set every replicas to 1/,
  ],
  [
    'large',
    { bundled: { enabled: true } },
    /bundled Postgres is for one machine, and transcriber\.autoscaling\.via is keda/,
  ],
  [
    'one-machine',
    { database: { host: 'postgres' } },
    /database\.host and bundled\.enabled exclude each other: leave out/,
  ],
  [
    'one-machine',
    { secrets: { existing: { owner: 'a' } } },
    /leave out secrets\.existing, or set bundled\.enabled=false/,
  ],
  ['one-machine', { bundled: { seed: '' } }, /needs passwords: set bundled\.seed/],
  ['large', { secrets: { existing: { api: '' } } }, /set secrets\.existing\.api too/],
  ['large', { secrets: { values: { SECRET_KEY } } }, /leave out one of them/],
  ['small', { secrets: { keys: ['METRICS_TOKEN'] } }, /set secrets\.existing, or give secrets\.values instead/],
  ['small', { secrets: { values: { SECRET_KEY: '' } } }, /set secrets\.values\.SECRET_KEY/],
  ['small', { database: { host: '' } }, /needs Postgres: set database\.host/],
  ['small', { database: { passwords: { api: '' } } }, /set database\.passwords\.api/],
  ['small', { secrets: { values: { REDIS_URL: '' } } }, /needs Redis: set secrets\.values\.REDIS_URL/],
  ['small', { config: { DATABASE_POOLER: true } }, /behind PgBouncer: set database\.directHost/],
  ['one-machine', { secrets: { values: { REDIS_URL: 'redis://x' } } }, /leave out secrets\.values\.REDIS_URL/],
  ['small', { secrets: { values: { S3_ACCESS_KEY_ID: '' } } }, /^S3_ACCESS_KEY_ID .* belong together: set both/],
  [
    'large',
    { secrets: { keys: ['METRICS_TOKEN', 'BACKUP_S3_ACCESS_KEY_ID'] } },
    /^BACKUP_S3_ACCESS_KEY_ID .* belong together/,
  ],
  [
    'small',
    { config: { STORAGE_ENCRYPTION: 'key' }, secrets: { values: { STORAGE_KEY: '' } } },
    /Transcribers have no SECRET_KEY.*STORAGE_KEY/,
  ],
  ['large', { config: { STORAGE_ENCRYPTION: 'key' } }, /set STORAGE_KEY .* in secrets\.values \(secrets\.keys\)/],
  ['small', { config: { STORAGE_ENCRYPTION: 'kms' } }, /needs a key of a KMS: set config\.STORAGE_KMS_URL/],
  [
    'small',
    { config: { STORAGE_KMS_URL: 'https://vault.internal:8200/v1/transit/keys/voice-notes' } },
    /shut out STORAGE_KMS_URL: set networkPolicy\.to\.kms/,
  ],
  [
    'small',
    { config: { STORAGE_DRIVER: 'disk' } },
    /ReadWriteOnce, which one node mounts, and \w+\.replicas is 2: set config\.STORAGE_DRIVER=s3/,
  ],
  ['small', { config: { S3_BUCKET: '' } }, /needs a bucket: set config\.S3_BUCKET/],
  ['small', { backup: { enabled: true } }, /stored in S3: set config\.BACKUP_DESTINATION/],
  ['small', { config: { BACKUP_DESTINATION: '/backups' } }, /stored in S3: set config\.BACKUP_DESTINATION/],
  [
    'small',
    { config: { BACKUP_DESTINATION: 's3://backups', BACKUP_S3_ENDPOINT: 'https://s3.example.com' } },
    /would shut out BACKUP_S3_ENDPOINT: set networkPolicy\.to\.backups/,
  ],
  ['small', { config: { SHERPA_MODEL: '' } }, /sherpa needs a model: set config\.SHERPA_MODEL/],
  [
    'one-machine',
    { config: { TRANSCRIPTION_ENGINE: 'sherpa', SHERPA_MODEL: 'ours' } },
    /need the volume with the model: set models\.volume/,
  ],
  ['small', { config: { TRANSCRIPTION_ENGINE: 'openai' } }, /openai needs a server: set config\.OPENAI_BASE_URL/],
  ['small', { config: { SANDBOX: 'required' } }, /needs bubblewrap, .* set transcriber\.seccompProfile/],
  ['one-machine', { serviceMonitor: { enabled: true } }, /with a token only: set METRICS_TOKEN/],
  [
    'large',
    { secrets: { keys: [] }, serviceMonitor: { enabled: false } },
    /Autoscaling needs metrics: set METRICS_TOKEN/,
  ],
  ['large', { transcriber: { autoscaling: { min: 61 } } }, /min \(61\) is more than max \(60\): lower one/],
  [
    'large',
    { transcriber: { autoscaling: { prometheusAddress: '' } } },
    /set transcriber\.autoscaling\.prometheusAddress/,
  ],
  [
    'large',
    { serviceMonitor: { enabled: false } },
    /set serviceMonitor\.enabled=true, or transcriber\.autoscaling\.query/,
  ],
  [
    'large',
    { serviceMonitor: { enabled: false }, transcriber: { autoscaling: { via: 'adapter' } } },
    /external metric is that of the ServiceMonitor: set serviceMonitor\.enabled=true/,
  ],
  ['small', { ingress: { host: '' } }, /An Ingress needs a host: set ingress\.host/],
  ['small', { secrets: { values: { SMTP_URL: 'smtps://mail' } } }, /set config\.SMTP_FROM and config\.PUBLIC_URL/],
  ['small', { config: { EGRESS_NO_PROXY: '.internal' } }, /EGRESS_NO_PROXY needs a proxy: set EGRESS_PROXY_URL/],
  ['small', { config: { EGRESS_PROXY_RESOLVES: true } }, /EGRESS_PROXY_RESOLVES needs a proxy: set EGRESS_PROXY_URL/],
  ['small', { secrets: { values: { WEBHOOK_CLIENT_CERT: 'pem' } } }, /WEBHOOK_CLIENT_KEY belong together: set both/],
  [
    'small',
    { secrets: { values: { EGRESS_PROXY_URL: 'http://proxy:3128' } } },
    /shut out EGRESS_PROXY_URL: set networkPolicy\.to\.proxy/,
  ],
  ['small', { networkPolicy: { to: { postgres: [] } } }, /shut out Postgres: set networkPolicy\.to\.postgres/],
  ['small', { networkPolicy: { to: { redis: [] } } }, /shut out Redis: set networkPolicy\.to\.redis/],
  ['small', { networkPolicy: { to: { s3: [] } } }, /shut out S3_ENDPOINT: set networkPolicy\.to\.s3/],
  [
    'small',
    { config: { OPENAI_BASE_URL: 'http://10.0.0.1' } },
    /shut out OPENAI_BASE_URL: set networkPolicy\.to\.engine/,
  ],
  [
    'small',
    { networkPolicy: { from: { ingress: [] } } },
    /shut out the ingress controller: set networkPolicy\.from\.ingress/,
  ],
  ['large', { networkPolicy: { from: { metrics: [] } } }, /shut out Prometheus: set networkPolicy\.from\.metrics/],
  ['air-gapped', { image: { registry: '' } }, /registry of one's own: set image\.registry/],
  ['air-gapped', { image: { digest: '' } }, /set image\.digest/],
  ['air-gapped', { networkPolicy: { internet: true } }, /set networkPolicy\.internet=false/],
  [
    'air-gapped',
    {
      config: { TRANSCRIPTION_ENGINE: 'openai', SHERPA_MODEL: '' },
      secrets: { keys: ['OPENAI_API_KEY', 'METRICS_TOKEN'] },
    },
    /no api\.openai\.com: set config\.OPENAI_BASE_URL/,
  ],
  ['small', { config: { SHUTDOWN_DELAY_SECONDS: 20 } }, /set api\.gracePeriodSeconds to more than 30/],
  ['small', { api: { config: { SHUTDOWN_DELAY_SECONDS: 20 } } }, /set api\.gracePeriodSeconds to more than 30/],
  ['air-gapped', { config: { S3_ENDPOINT: '' } }, /no Amazon S3: set config\.S3_ENDPOINT/],
];

/** Values of a wrong shape, and what the schema says of them. */
const MISSHAPEN = [
  ['one-machine', { replicas: 2 }, /additional properties 'replicas' not allowed/],
  ['one-machine', { config: { LOG_LEVLE: 'debug' } }, /invalid propertyName 'LOG_LEVLE'/],
  ['one-machine', { config: { SECRET_KEY } }, /invalid propertyName 'SECRET_KEY'/],
  ['one-machine', { config: { ROLES: 'api' } }, /invalid propertyName 'ROLES'/],
  ['one-machine', { image: { digest: 'sha256:abc' } }, /\/image\/digest/],
  ['one-machine', { api: { gracePeriodSeconds: 10 } }, /gracePeriodSeconds.*minimum: got 10, want 16/],
  ['one-machine', { api: { replicas: 0 } }, /replicas.*minimum/],
  ['one-machine', { bundled: { seed: 'short' } }, /\/bundled\/seed/],
  ['one-machine', { networkPolicy: { from: { ingress: [{ podselector: {} }] } } }, /'podselector' not allowed/],
  ['one-machine', { storage: { size: '20' } }, /\/storage\/size/],
  ['small', { models: { volume: { nfs: {} } } }, /\/models\/volume.*maxProperties/],
];

describe('values of docker/chart that cannot be', () => {
  chartTest('are refused with a sentence that says what to do', async () => {
    const failures = await inPairs(IMPOSSIBLE);
    failures.forEach(({ code, stderr }, i) => {
      const sentence = /execution error at \(voice-notes\/templates\/checks\.yaml:\d+:\d+\): (.*)\n/.exec(stderr)?.[1];
      expect({ code, sentence: sentence ?? stderr }).toEqual({
        code: 1,
        sentence: expect.stringMatching(IMPOSSIBLE[i][2]),
      });
      expect(sentence).toMatch(/^[A-Za-z].*\.$/);
    });
    // There is a case for each sentence.
    const sentences = read('docker/chart/templates/checks.yaml').match(/\bfail\b/g);
    const lines = new Set(failures.map(({ stderr }) => /checks\.yaml:(\d+):/.exec(stderr)?.[1]));
    expect(lines.size).toBe(sentences.length);
  });

  chartTest('are refused by the schema when their shape is wrong', async () => {
    const failures = await inPairs(MISSHAPEN);
    failures.forEach(({ code, stderr }, i) => {
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(MISSHAPEN[i][2]) });
    });
  });

  /** Two at a time: other tests run beside. */
  async function inPairs(cases) {
    const failures = [];
    for (let at = 0; at < cases.length; at += 2) {
      const pair = cases
        .slice(at, at + 2)
        .map(([set, values]) => helm('template', ['notes', CHART, ...valuesOf(set, values)]));
      failures.push(...(await Promise.all(pair)));
    }
    return failures;
  }
});

/** Every variable that src/platform/config/env.ts reads. */
function namesOfVariables() {
  const used = read('src/platform/config/env.ts').matchAll(/read\.\w+\('([A-Z][A-Z0-9_]+)'/g);
  return new Set([...used].map(([, name]) => name)).add('ROLES').add('TRUST_PROXY').add('ACCEPTED_FORMATS');
}

/** The variables of a container, with the contents of the files that it mounts: those of Secrets that exist are made up. */
function withSecrets(container, pod, objects) {
  const MADE_UP = {
    DATABASE_URL: 'postgres://u:p@postgres/db',
    REDIS_URL: 'redis://redis',
    SECRET_KEY,
    METRICS_TOKEN: 'a token of 16 characters',
  };
  const volume = pod.spec.volumes.find(({ name }) => name === 'secrets');
  const sources = volume.projected?.sources.map(({ secret }) => secret) ?? [
    { ...volume.secret, name: volume.secret.secretName },
  ];
  const contents = Object.fromEntries(
    sources.flatMap(({ name, items }) =>
      items.map(({ key, path }) => [path, (named(objects, 'Secret', name)?.stringData ?? MADE_UP)[key] ?? 'made up']),
    ),
  );
  const variables = container.env.map(({ name, value }) => {
    const file = /^(\w+)_FILE$/.exec(name)?.[1];
    if (file) expect(contents).toHaveProperty(file);
    return file ? [file, contents[file]] : [name, value];
  });
  return { METRICS_TOKEN: pod.name.includes('migrate') ? '' : MADE_UP.METRICS_TOKEN, ...Object.fromEntries(variables) };
}

function selects({ matchLabels = {}, matchExpressions = [] }, labels) {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(labels[key]))
  );
}

function isInBlock(address, { cidr, except = [] }) {
  const parsed = ipaddr.parse(address);
  const isIn = (range) => {
    const [first, bits] = ipaddr.parseCIDR(range);
    return first.kind() === parsed.kind() && parsed.match(first, bits);
  };
  return isIn(cidr) && !except.some(isIn);
}

/** What Kubernetes refuses to change. */
function immutableParts({ kind, spec }) {
  if (kind === 'Job') return { template: spec.template, completions: spec.completions, selector: spec.selector };
  if (kind === 'Deployment') return { selector: spec.selector };
  if (kind === 'PersistentVolumeClaim') return spec;
  if (kind === 'Service') return { clusterIP: spec.clusterIP };
  if (kind !== 'StatefulSet') return {};
  const {
    replicas: _replicas,
    template: _template,
    updateStrategy: _strategy,
    minReadySeconds: _seconds,
    ...fixed
  } = spec;
  return fixed;
}
