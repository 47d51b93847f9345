import { Global, Module } from '@nestjs/common';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { TokenBucket } from './token-bucket.js';

@Global()
@Module({ providers: [CredentialVersionsService, TokenBucket], exports: [CredentialVersionsService, TokenBucket] })
export class RateLimitModule {}
