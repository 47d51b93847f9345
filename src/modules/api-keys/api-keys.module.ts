import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey } from './api-key.entity.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysService } from './api-keys.service.js';
import { SecretRehashService } from './rehash/secret-rehash.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([ApiKey])],
  controllers: [ApiKeysController],
  providers: [ApiKeysService, ApiKeyUsageService, SecretRehashService],
  exports: [ApiKeysService],
})
export class ApiKeysModule {}
