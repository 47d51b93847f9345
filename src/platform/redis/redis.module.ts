import { Global, Module } from '@nestjs/common';
import { RedisService } from './redis.service.js';
import { SignalsService } from './signals.service.js';

@Global()
@Module({ providers: [RedisService, SignalsService], exports: [RedisService, SignalsService] })
export class RedisModule {}
