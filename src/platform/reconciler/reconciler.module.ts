import { Global, Module } from '@nestjs/common';
import { ReconcilerService } from './reconciler.service.js';

@Global()
@Module({ providers: [ReconcilerService], exports: [ReconcilerService] })
export class ReconcilerModule {}
