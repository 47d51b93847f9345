import type { Request } from 'express';
import type { Env } from '../../platform/config/env.js';
import { OperatorAccessService } from './operator-access.service.js';

const accessOf = (env: Partial<Env>) =>
  new OperatorAccessService({ metricsToken: null, trustProxy: false, nodeEnv: 'production', ...env } as Env);

const requestOf = (headers: Record<string, string>, remoteAddress?: string) =>
  ({ headers, get: (name: string) => headers[name], socket: { remoteAddress } }) as unknown as Request;

describe('OperatorAccessService (D31)', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['::12', false],
    ['10.127.0.1', false],
    ['1270.0.0.1', false],
    ['::ffff:10.0.0.1', false],
    [undefined, false],
  ])('takes %s for the machine itself in production: %s', (address, isLocal) => {
    expect(accessOf({}).isLocal(requestOf({}, address))).toBe(isLocal);
    expect(accessOf({ nodeEnv: 'test' }).isLocal(requestOf({}, address))).toBe(true);
  });

  it.each(['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'])(
    'takes a request with %s for that of a proxy, in any environment',
    (header) => {
      for (const nodeEnv of ['production', 'development'] as const) {
        expect(accessOf({ nodeEnv }).isLocal(requestOf({ [header]: '' }, '127.0.0.1'))).toBe(false);
      }
    },
  );

  it.each([[0], [1], [['10.0.0.1']]])('takes nobody for the machine itself behind TRUST_PROXY=%j', (trustProxy) => {
    expect(accessOf({ trustProxy, nodeEnv: 'test' }).isLocal(requestOf({}, '127.0.0.1'))).toBe(false);
  });

  it.each([
    ['secret', 'Bearer secret', true],
    ['secret', 'bearer secret', false],
    ['secret', 'Bearer secret ', false],
    ['secret', 'secret', false],
    ['secret', undefined, false],
    [null, 'Bearer null', false],
    [null, undefined, false],
  ])('with METRICS_TOKEN=%s, %s is a token: %s', (metricsToken, authorization, hasToken) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    expect(accessOf({ metricsToken }).hasToken(requestOf(headers))).toBe(hasToken);
  });
});
