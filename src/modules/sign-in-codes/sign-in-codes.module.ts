import { Module } from '@nestjs/common';
import { SignInCodesController } from './sign-in-codes.controller.js';
import { SignInCodesService } from './sign-in-codes.service.js';

@Module({ controllers: [SignInCodesController], providers: [SignInCodesService] })
export class SignInCodesModule {}
