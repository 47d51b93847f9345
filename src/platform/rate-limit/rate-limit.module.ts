import { Global, Module } from '@nestjs/common';
import { Epochs } from '../access/epochs.js';
import { TokenBucket } from './token-bucket.js';

@Global()
@Module({ providers: [Epochs, TokenBucket], exports: [Epochs, TokenBucket] })
export class RateLimitModule {}
