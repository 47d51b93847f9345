import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Webhook } from './webhook.entity.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';

/** For the command that rotates secrets, which loads nothing else of the webhooks. */
@Module({
  imports: [TypeOrmModule.forFeature([Webhook])],
  providers: [WebhookSecretsService],
  exports: [WebhookSecretsService],
})
export class WebhookSecretsModule {}
