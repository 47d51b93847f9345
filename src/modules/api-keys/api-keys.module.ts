import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey } from './api-key.entity.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysService } from './api-keys.service.js';
import { HashRenewal } from './hash-renewal.js';
import { KeyUsage } from './key-usage.js';

@Module({
  imports: [TypeOrmModule.forFeature([ApiKey])],
  controllers: [ApiKeysController],
  providers: [ApiKeysService, KeyUsage, HashRenewal],
  exports: [ApiKeysService],
})
export class ApiKeysModule {}
