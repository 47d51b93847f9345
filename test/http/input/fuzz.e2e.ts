import { type DescribedOperation, operationsOf, readDocument } from '../../support/fuzz/description.js';
import { fuzz, type FuzzTarget, table, untested } from '../../support/fuzz/fuzz.js';
import { RequestBuilder, send } from '../../support/fuzz/request-builder.js';
import { transcribesAtOnce } from '../../support/service/instant-transcriber.js';
import { startService, useService } from '../../../src/testing/test-service.js';

/** Set by `npm run fuzz`. Otherwise the same requests each time, so that a failure is about the change at hand. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_260_314);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 900);

/** Shrinking what was found takes as long as it takes; ten times the usual pace is a hang. */
jest.setTimeout(120_000 + REQUESTS * 200);

const operations = operationsOf(readDocument());

/** Only with it links are sent; and then they are not shown, which other operations need. Nothing listens there. */
const MAIL = {
  SMTP_URL: 'smtp://127.0.0.1:9?tls=none',
  SMTP_FROM: 'Voice notes <notes@example.com>',
  PUBLIC_URL: 'https://notes.example.com',
  TRUST_PROXY: '1',
};
/** Attempts to sign in are limited for an address, and others sign in from ours. */
const OTHER_CLIENT = { 'X-Forwarded-For': '192.0.2.1' };

describe('every operation of openapi.json, with valid and invalid requests', () => {
  // Without a worker nothing is sent to a webhook, and a recording stays in the state it was brought to.
  const service = useService({ ROLES: 'api', CLIENT_ENGINES: 'pocketsphinx' }, { extensions: [transcribesAtOnce] });

  it(`is answered as documented, and what is wrong is refused (seed ${SEED})`, async () => {
    const startedAt = performance.now();
    // Each operation has accounts of its own: what it meets does not depend on what the others have done.
    const builders = new Map<DescribedOperation, RequestBuilder>();
    for (const operation of operations) builders.set(operation, await RequestBuilder.open(service, operations));
    const mailing = await startService(service.environment, { ROLES: 'api', ...MAIL });
    const target: FuzzTarget = {
      prepare: (operation, plan) => (builders.get(operation) as RequestBuilder).prepare(operation, plan),
      send: (request) =>
        request.target.startsWith('/v1/sign-in-links')
          ? send(mailing.url, { ...request, headers: { ...request.headers, ...OTHER_CLIENT } })
          : send(service.url, request),
    };
    const report = await fuzz(operations, target, { seed: SEED, requests: REQUESTS });

    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const summary = `seed ${SEED}, ${report.requests} requests in ${seconds} s, ${report.wrong} of them wrong\n${table(report)}`;
    process.stdout.write(`\n${summary}\n`);
    if (report.failures.length > 0) {
      throw new Error(
        `${report.failures.join('\n\n')}\n\nAgain: npm run fuzz -- --seed ${SEED} --requests ${REQUESTS}`,
      );
    }
    expect(untested(report)).toEqual([]);
  });
});
