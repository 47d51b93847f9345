import { type DynamicModule, Module } from '@nestjs/common';

/** Injection token: the names of the engines that a client can ask for. */
export const ENGINE_NAMES = Symbol('EngineNames');

/** Tells every module which engines there are, without the engines themselves. */
@Module({})
export class EngineNamesModule {
  static for(names: readonly string[]): DynamicModule {
    const provider = { provide: ENGINE_NAMES, useValue: names };
    return { module: EngineNamesModule, global: true, providers: [provider], exports: [provider] };
  }
}
