import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { Extension } from '../../../src/extension.js';
import { Cleanup, type TestEnvironment, useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService } from '../../../src/testing/test-service.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { PrivateRedis } from '../servers/private-redis.js';
import { TcpProxy } from '../servers/tcp-proxy.js';
import { ServiceProcess } from './service-process.js';

type Variables = Record<string, string>;

/** Services, their servers and receivers on one environment. What a test starts is closed after it, the latest first. */
export class Fleet {
  /** Of the test that runs; null in hooks for all tests. */
  private cleanup: Cleanup | null = null;

  constructor(
    readonly environment: TestEnvironment,
    private readonly extensions: Extension[],
  ) {}

  /** Registers a step for the end of the test, or of all tests if none runs. */
  defer(step: () => unknown): void {
    if (this.cleanup) this.cleanup.add(step);
    else this.environment.defer(step);
  }

  /** In the process of the test, which can look inside. */
  async service(roles: string, variables: Variables = {}): Promise<TestService> {
    const service = await startService(this.environment, { ROLES: roles, ...variables }, this.extensions);
    this.defer(() => service.close());
    return service;
  }

  /** A process of the build. */
  async process(roles: string, variables: Variables = {}): Promise<ServiceProcess> {
    const instance = await ServiceProcess.start(this.environment, roles, variables);
    this.defer(() => instance.end('SIGKILL'));
    return instance;
  }

  async proxyTo(server: 'REDIS_URL' | 'DATABASE_URL'): Promise<TcpProxy> {
    const proxy = await TcpProxy.to(this.environment.variables[server] as string);
    this.defer(() => proxy.close());
    return proxy;
  }

  async privateRedis(starting: Promise<PrivateRedis> = PrivateRedis.start()): Promise<PrivateRedis> {
    const redis = await starting;
    this.defer(() => redis.kill());
    return redis;
  }

  /** A connection of the test's own. */
  redis(url = this.environment.variables.REDIS_URL as string): Redis {
    const redis = new Redis(url);
    this.defer(() => redis.disconnect());
    return redis;
  }

  /** A connection of the test's own. */
  async postgres(): Promise<Client> {
    const connection = new Client({ connectionString: this.environment.variables.DATABASE_URL as string });
    await connection.connect();
    this.defer(() => connection.end());
    return connection;
  }

  async receiver(): Promise<WebhookReceiver> {
    const receiver = await WebhookReceiver.listen();
    this.defer(() => receiver.close());
    return receiver;
  }

  beginTest(): void {
    this.cleanup = new Cleanup();
  }

  async endTest(): Promise<void> {
    const { cleanup } = this;
    this.cleanup = null;
    await cleanup?.run();
  }
}

/** A fleet for the tests of this file or `describe` block, with hooks that open and close its environment. */
export function useFleet({
  extensions = [],
  environment = useEnvironment(extensions),
}: { extensions?: Extension[]; environment?: TestEnvironment } = {}): Fleet {
  const fleet = new Fleet(environment, extensions);
  beforeEach(() => fleet.beginTest());
  afterEach(() => fleet.endTest());
  return fleet;
}

/** How a recording stands, by its row, which takes no token of a limited account. */
export interface RecordingRow {
  id: string;
  status: string;
  attempt: number;
  /** Whether a worker holds its lease. */
  held: boolean;
  /** What it is transcribed again for. */
  rerun: string | null;
  /** Seconds until its lease ends. */
  delay: number | null;
}

const ROW = `SELECT id, status, attempt, lease_token IS NOT NULL AS held, rerun,
  extract(epoch FROM lease_until - now())::float8 AS delay FROM recordings`;

export async function rowOf({ database }: TestService, id: string): Promise<RecordingRow> {
  const [row] = await database.query<RecordingRow>(`${ROW} WHERE id = $1`, [id]);
  if (!row) throw new Error(`recording ${id} is gone`);
  return row;
}

export async function rowsOfAccount({ database }: TestService, accountId: string): Promise<RecordingRow[]> {
  return await database.query<RecordingRow>(`${ROW} WHERE account_id = $1`, [accountId]);
}
