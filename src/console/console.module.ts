import { type DynamicModule, Module } from '@nestjs/common';
import type { Env } from '../platform/config/env.js';
import { ConsoleFilesService } from './console-files.service.js';
import { ConsoleController, HomeController, SecurityTextController } from './console.controller.js';

/** Written by `npm run build -w console`. */
const BUILT_CONSOLE = new URL('../../console/dist/', import.meta.url);

/** What a person sees who opens the service's address: the console, or with CONSOLE=off a page with links; security.txt. */
@Module({})
export class ConsoleModule {
  static register(env: Env): DynamicModule {
    if (!env.console) return { module: ConsoleModule, controllers: [HomeController, SecurityTextController] };
    const files = { provide: ConsoleFilesService, useFactory: () => new ConsoleFilesService(BUILT_CONSOLE) };
    return { module: ConsoleModule, controllers: [ConsoleController, SecurityTextController], providers: [files] };
  }
}
