/** `npm run -s admin -- COMMAND [options]`: accounts and keys, for operators (D30). */
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { COMMANDS } from './admin-commands.js';
import { Options, UsageError } from './options.js';
import { show } from './format-output.js';
import { extensions } from '../extensions.js';
import { readEnv } from '../platform/config/env.js';

const [name = '', ...args] = process.argv.slice(2);

try {
  const command = COMMANDS[name];
  if (!command) throw new UsageError(name ? `there is no command ${name}` : 'a command is missing');
  const options = new Options(args, command.options);
  const result = await withApp((app) => command.run(app, options));
  process.stdout.write(`${options.json ? JSON.stringify(result) : show(result)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  if (error instanceof UsageError) process.stderr.write(usage());
  // What a start that failed half-way has opened, such as a connection to Redis, would keep the process for ever.
  process.exit(1);
}

/** The same rooms as the service, but no role: nothing listens, nothing is processed. */
async function withApp<T>(work: (app: INestApplicationContext) => Promise<T>): Promise<T> {
  Logger.overrideLogger(false);
  const env = { ...readEnv(process.env), roles: [], logLevel: 'silent' };
  const app = await NestFactory.createApplicationContext(AppModule.for(env, extensions), {
    logger: false,
    abortOnError: false,
  });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

function usage(): string {
  const lines = Object.entries(COMMANDS).map(([command, { usage: options }]) => `  ${command} ${options}`.trimEnd());
  return `\nCommands (each also takes --json):\n${lines.join('\n')}\n`;
}
