import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { UserErasure } from './user-erasure.entity.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([UserErasure]), RecordingsModule, WebhooksModule],
  controllers: [UsersController],
  providers: [UsersService],
})
export class UsersModule {}
