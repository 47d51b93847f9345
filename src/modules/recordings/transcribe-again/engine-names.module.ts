import { type DynamicModule, Module } from '@nestjs/common';

/** Injection token: the names of the engines that a client can ask for. */
export const ENGINE_NAMES = Symbol('EngineNames');

/** Gives every module the names of the engines, without the engines. */
@Module({})
export class EngineNamesModule {
  static forRoot(names: readonly string[]): DynamicModule {
    const provider = { provide: ENGINE_NAMES, useValue: names };
    return { module: EngineNamesModule, global: true, providers: [provider], exports: [provider] };
  }
}
