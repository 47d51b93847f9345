import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IssuedTokensService } from './issued-tokens.service.js';
import { KeySetsService } from './key-sets.service.js';
import { TokenIssuer } from './token-issuer.entity.js';
import { TokenIssuersController } from './token-issuers.controller.js';
import { TokenIssuersService } from './token-issuers.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([TokenIssuer])],
  controllers: [TokenIssuersController],
  providers: [TokenIssuersService, IssuedTokensService, KeySetsService],
  exports: [IssuedTokensService],
})
export class TokenIssuersModule {}
