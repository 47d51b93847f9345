// `npm start`: sets everything up, runs the service on this machine and shows that it works. See README.md.
import { join, relative } from 'node:path';

import { migrate, reachable, rolesOf, startApplication } from './lib/application.mjs';
import { demoAccount, printCommands, signInLink, transcribeSample } from './lib/demo.mjs';
import { choosePort, RANK, runLocally, startServices, teardown } from './lib/local-run.mjs';
import { DATA, ROOT } from './lib/paths.mjs';
import { prepareProject } from './lib/setup.mjs';
import { prepareModel, startOptions, USAGE, withModel } from './lib/speech-model.mjs';
import { parallelStep, printError, seconds, step } from './lib/steps.mjs';
import { ensureSystemPackages } from './lib/system-packages.mjs';

const startedAt = performance.now();
const { model, help } = readOptions();

if (help) console.log(USAGE);
else await runLocally(main);

function readOptions() {
  try {
    return startOptions(process.argv.slice(2));
  } catch (error) {
    printError(error);
    return process.exit(1);
  }
}

async function main(settings) {
  const given = withModel(settings, model);
  const production = given.NODE_ENV === 'production';
  console.log('Voice Note Transcription Service\n');
  await Promise.all([parallelStep('System', () => ensureSystemPackages(given)), prepareProject({ tools: false })]);
  if (model) await parallelStep('Model', () => prepareModel(given, model));
  const env = await startServices(given);
  await step('Schema', () => migrate(env));
  const { port, note } = await choosePort(env);
  const baseUrl = `http://${reachable(env.HOST)}:${port}`;
  await step('Service', async () => {
    await startApplication(env, port, (supervisor) => teardown.add(RANK.application, supervisor));
    return `${rolesOf(env).join(' and ')} ready at ${baseUrl}${note}`;
  });
  const demo = !production && rolesOf(env).includes('api') ? await tryOut(baseUrl, env) : null;
  await printReady(baseUrl, env, demo);
}

async function tryOut(baseUrl, env) {
  const { credentials } = await step('Demo account', () => demoAccount(baseUrl, env));
  const isDone = credentials.sample && (!model || credentials.sample.model === model);
  if (isDone || !rolesOf(env).some((role) => role === 'worker' || role === 'transcriber')) return credentials;
  try {
    const { sample, text } = await step('Sample', () => transcribeSample(baseUrl, credentials, model));
    console.log(`\n  “${text}”`);
    return { ...credentials, sample };
  } catch (error) {
    // The service runs, so the failed sample is reported and nothing is stopped.
    if (!teardown.isRunning) printError(error);
    return credentials;
  }
}

async function printReady(baseUrl, env, demo) {
  console.log(`\nReady in ${seconds(performance.now() - startedAt)}.\n`);
  if (demo) printCommands(baseUrl, demo);
  if (demo && env.CONSOLE !== 'off') console.log(`  Console        ${await signInLink(baseUrl, demo)}`);
  if (rolesOf(env).includes('api')) console.log(`  Base URL       ${baseUrl}\n  Documentation  ${baseUrl}/docs`);
  console.log(`  Logs           ${relative(ROOT, join(DATA, 'logs'))}\n  Stop           Ctrl-C\n`);
}
