import { Module } from '@nestjs/common';
import { LiveModule } from '../live.module.js';
import { RealtimeSessionsService } from './realtime-sessions.service.js';
import { RealtimeController } from './realtime.controller.js';

/** The WebSockets of live recordings, in the role `api`. */
@Module({
  imports: [LiveModule],
  controllers: [RealtimeController],
  providers: [RealtimeSessionsService],
})
export class RealtimeModule {}
