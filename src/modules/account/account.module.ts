import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { AccountController } from './account.controller.js';
import { Account } from './account.entity.js';
import { AccountService } from './account.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Account]), RecordingsModule],
  controllers: [AccountController],
  providers: [AccountService],
  exports: [AccountService],
})
export class AccountModule {}
