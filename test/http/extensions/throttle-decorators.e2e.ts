import { Controller, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import request, { type Response } from 'supertest';
import { Public, RequireScope } from '../../../src/access/access.decorators.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';

@Controller('v1/limits')
class LimitsController {
  @Get('own')
  @RequireScope('account:read')
  @Throttle({ default: { limit: 3, ttl: 60_000 } })
  own(): object {
    return {};
  }

  @Get('other')
  @RequireScope('account:read')
  @Throttle({ default: { limit: 3, ttl: 60_000 } })
  other(): object {
    return {};
  }

  /** As many as the burst of the free plan, in half the time. */
  @Get('burst')
  @RequireScope('account:read')
  @Throttle({ default: { limit: 20, ttl: 60_000 } })
  burst(): object {
    return {};
  }

  @Get('skipped')
  @RequireScope('account:read')
  @SkipThrottle()
  skipped(): object {
    return {};
  }

  @Get('public')
  @Public()
  open(): object {
    return {};
  }
}

@Module({ controllers: [LimitsController] })
class LimitsModule {}

describe("Nest's throttler decorators on the route of an extension", () => {
  const service = useService({ ROLES: 'api' }, { extensions: [{ module: LimitsModule }] });
  let free: ApiClient;

  beforeEach(async () => {
    free = await service.account('free');
  });

  const remaining = ({ headers }: Response) => headers['x-ratelimit-remaining'];

  it('@Throttle gives the route a limit of its own for each account, shown in the headers', async () => {
    const first = await free.get('/v1/limits/own').expect(200);
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' });
    await free.get('/v1/limits/own').expect(200);
    await free.get('/v1/limits/own').expect(200);
    const refused = await free.get('/v1/limits/own').expect(429);
    expect(refused.body.error).toMatchObject({ type: 'RateLimitError', details: { retry_after: 20 } });

    const stranger = await service.account('free');
    expect(remaining(await stranger.get('/v1/limits/own').expect(200))).toBe('2');
  });

  it('@Throttle leaves the limit of the plan, and that of other routes, untouched', async () => {
    for (let i = 0; i < 3; i++) await free.get('/v1/limits/own').expect(200);
    expect(remaining(await free.get('/v1/limits/other').expect(200))).toBe('2');
    expect(remaining(await free.get('/v1/account').expect(200))).toBe('9');
  });

  it('@Throttle is apart from the plan also where only the time differs', async () => {
    const { headers } = await free.get('/v1/limits/burst').expect(200);
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '19' });
    expect(remaining(await free.get('/v1/account').expect(200))).toBe('9');
  });

  it('@SkipThrottle takes no token and sends no limit headers, and still requires credentials', async () => {
    for (let i = 0; i < 25; i++) {
      const { headers } = await free.get('/v1/limits/skipped').expect(200);
      expect(headers).not.toHaveProperty('x-ratelimit-limit');
    }
    expect(remaining(await free.get('/v1/account').expect(200))).toBe('9');
    await request(service.url).get('/v1/limits/skipped').expect(401);
  });

  it('without either, a route is limited by the plan, a public one included', async () => {
    expect(remaining(await free.get('/v1/limits/public').expect(200))).toBe('9');
    expect(remaining(await free.get('/v1/account').expect(200))).toBe('8');
  });
});
