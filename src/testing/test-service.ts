import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { SCOPES, type Scope } from '../access/scopes.js';
import { AppModule } from '../app.module.js';
import { configureApp } from '../app.setup.js';
import type { Extension } from '../extension.js';
import { AccountService } from '../modules/account/account.service.js';
import type { Plan } from '../access/plans.js';
import { ApiKeysService } from '../modules/api-keys/api-keys.service.js';
import { readEnv } from '../platform/config/env.js';
import { DatabaseService } from '../platform/database/database.service.js';
import { BoundedExpressAdapter } from '../platform/http/server/express.adapter.js';
import { ApiClient } from './api-client.js';
import { beforeAll, TestEnvironment, useEnvironment } from './test-environment.js';

type Variables = Record<string, string>;

/** The whole service in this process, listening, on real Postgres, Redis, ffmpeg and the real engine. */
export class TestService {
  /** Empty until it listens. */
  url = '';
  private running: NestExpressApplication | null = null;
  private closing: Promise<void> | null = null;

  constructor(
    readonly environment: TestEnvironment,
    private readonly addedExtensions: Extension[] = [],
  ) {}

  /** @param variables that differ from those of the environment. */
  async start(variables: Variables = {}): Promise<void> {
    const env = readEnv({ ...this.environment.variables, ...variables });
    const extensions = [...new Set([...this.environment.extensions, ...this.addedExtensions])];
    const module = await Test.createTestingModule({ imports: [AppModule.register(env, extensions)] }).compile();
    const options = { bodyParser: false, logger: false } as const;
    const app = module.createNestApplication<NestExpressApplication>(new BoundedExpressAdapter(env), options);
    // Closed at the end even if it cannot listen.
    this.running = app;
    this.environment.defer(() => this.close());
    await configureApp(app).listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
  }

  get app(): NestExpressApplication {
    if (!this.running) throw new Error('the service has not started');
    return this.running;
  }

  get database(): DatabaseService {
    return this.app.get(DatabaseService);
  }

  /** A new account with one key that holds every scope. Enterprise by default, so that no limit is met. */
  async account(plan: Plan = 'enterprise'): Promise<ApiClient> {
    const fields = { name: `Account ${randomUUID()}`, email: 'test@example.com', plan };
    const { id } = await this.app
      .get(AccountService)
      .create({ ...fields, rateLimit: null, burstLimit: null }, { allowDuplicateEmail: true });
    return await this.createKey(id, [...SCOPES]);
  }

  /** A further key of the same account. */
  async key({ accountId }: ApiClient, scopes: Scope[]): Promise<ApiClient> {
    return await this.createKey(accountId, scopes);
  }

  close(): Promise<void> {
    this.closing ??= this.running?.close() ?? Promise.resolve();
    return this.closing;
  }

  private async createKey(accountId: string, scopes: Scope[]): Promise<ApiClient> {
    const fields = { name: 'Test key', scopes };
    const { key, secret } = await this.app
      .get(ApiKeysService)
      .create(accountId, { keyId: null, scopes: SCOPES }, fields);
    return new ApiClient(this.url, accountId, { id: key.id, key: key.key, secret });
  }
}

interface ServiceOptions {
  /** Modules that the tests add to the service, with their migrations. */
  extensions?: Extension[];
  /** An environment that other services share. */
  environment?: TestEnvironment;
}

/**
 * A service for the tests of this file or `describe` block, with hooks that start and close it: also when one of its
 * steps fails, because what stays open would keep jest from ending.
 * @param variables that differ from those of the environment; a function is called after the earlier hooks.
 */
export function useService(
  variables: Variables | (() => Variables) = {},
  { extensions = [], environment = useEnvironment(extensions) }: ServiceOptions = {},
): TestService {
  const service = new TestService(environment, extensions);
  beforeAll(() => service.start(typeof variables === 'function' ? variables() : variables));
  return service;
}

/** A further service in a test. It is closed with the environment, unless the test closes it. */
export async function startService(
  environment: TestEnvironment,
  variables: Variables = {},
  extensions: Extension[] = [],
): Promise<TestService> {
  const service = new TestService(environment, extensions);
  await service.start(variables);
  return service;
}
