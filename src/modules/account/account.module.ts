import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { AccountController } from './account.controller.js';
import { Account } from './account.entity.js';
import { AccountService } from './account.service.js';
import { RequestError } from './request-errors/request-error.entity.js';
import { RequestErrorsController } from './request-errors/request-errors.controller.js';
import { RequestErrorsService } from './request-errors/request-errors.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Account, RequestError]), RecordingsModule],
  controllers: [AccountController, RequestErrorsController],
  providers: [AccountService, RequestErrorsService],
  exports: [AccountService],
})
export class AccountModule {}
