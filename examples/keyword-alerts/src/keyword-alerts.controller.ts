import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal, RequireScope } from 'voice-note-transcription-service';
import { KeywordAlertPage, presentKeywordAlertPage } from './keyword-alert.presenter.js';
import { ListKeywordAlertsQuery } from './keyword-alerts.dto.js';
import { KeywordAlertsService } from './keyword-alerts.service.js';

@ApiTags('Keyword alerts')
@Controller('v1/keyword-alerts')
export class KeywordAlertsController {
  constructor(private readonly alerts: KeywordAlertsService) {}

  @Get()
  @RequireScope('keywords:read')
  @ApiOkResponse({ type: KeywordAlertPage })
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: ListKeywordAlertsQuery,
  ): Promise<KeywordAlertPage> {
    return presentKeywordAlertPage(query, await this.alerts.list(accountId, query));
  }
}
