import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { AccountController } from './account.controller.js';
import { Account } from './account.entity.js';
import { AccountService } from './account.service.js';
import { RequestErrorsController } from './request-errors.controller.js';
import { RequestErrorsService } from './request-errors.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Account]), RecordingsModule],
  controllers: [AccountController, RequestErrorsController],
  providers: [AccountService, RequestErrorsService],
  exports: [AccountService],
})
export class AccountModule {}
