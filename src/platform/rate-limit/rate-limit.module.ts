import { Global, Module } from '@nestjs/common';
import { TokenBucketStorage } from './token-bucket.storage.js';

@Global()
@Module({ providers: [TokenBucketStorage], exports: [TokenBucketStorage] })
export class RateLimitModule {}
