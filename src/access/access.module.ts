import { Global, Module } from '@nestjs/common';
import { CredentialVersionsService } from './credential-versions.service.js';

@Global()
@Module({ providers: [CredentialVersionsService], exports: [CredentialVersionsService] })
export class AccessModule {}
