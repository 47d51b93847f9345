import { Module } from '@nestjs/common';
import { JobQueueModule } from '../../../platform/queue/job-queue.module.js';
import { PeopleModule } from '../people.module.js';
import { MailSenderService } from './mail-sender.service.js';
import { MAIL_QUEUE, SignInMailsProcessor } from './sign-in-mails.processor.js';

/** What sends mail: only with SMTP_URL, in processes with the role `api`, which know people. */
@Module({
  imports: [PeopleModule, JobQueueModule.register(MAIL_QUEUE)],
  providers: [MailSenderService, SignInMailsProcessor],
})
export class SignInMailsModule {}
