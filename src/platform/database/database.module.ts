import { type DynamicModule, Module, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Env } from '../config/env.js';
import { dataSourceOptions, type Migration } from './data-source.js';
import { DatabaseService } from './database.service.js';
import { assertSchema, assertTimeLimit } from './schema.js';

@Module({})
export class DatabaseModule implements OnModuleInit {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly env: Env,
  ) {}

  /**
   * @param migrations every migration of the core and the extensions, in order.
   * @param options `connectAttempts`: how often a start tries to reach Postgres, once a second. `statementTimeoutMs`: 0 for
   *   none, by default that of the service.
   */
  static forRoot(
    migrations: Migration[],
    { connectAttempts = 10, ...limits }: { connectAttempts?: number; statementTimeoutMs?: number } = {},
  ): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Env],
          useFactory: (env: Env) => ({
            ...dataSourceOptions(env, migrations, limits),
            autoLoadEntities: true,
            retryAttempts: env.nodeEnv === 'test' ? Math.min(connectAttempts, 3) : connectAttempts,
            retryDelay: 1000,
          }),
        }),
      ],
      providers: [DatabaseService],
      exports: [DatabaseService],
    };
  }

  async onModuleInit(): Promise<void> {
    if (this.env.databasePooler) await assertTimeLimit(this.dataSource);
    await assertSchema(this.dataSource);
  }
}
