import { Module } from '@nestjs/common';
import { RecordingsModule } from '../recordings/recordings.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [RecordingsModule, WebhooksModule],
  controllers: [UsersController],
  providers: [UsersService],
})
export class UsersModule {}
