import { Controller, Get, Query } from '@nestjs/common';
import { CurrentPrincipal } from '../../src/access/current-principal.decorator.js';
import type { Principal } from '../../src/access/principal.js';
import { RequireScope } from '../../src/access/access.decorators.js';
import { type PageFields, pageFields, PageQuery } from '../../src/platform/http/page.js';
import { resourceTime } from '../../src/platform/http/timestamps.js';
import type { KeywordAlert } from './keyword-alert.entity.js';
import { KeywordAlertsService } from './keyword-alerts.service.js';

const PATH = '/v1/keyword-alerts';

@Controller(PATH)
export class KeywordAlertsController {
  constructor(private readonly alerts: KeywordAlertsService) {}

  @Get()
  @RequireScope('recordings:read')
  async list(
    @CurrentPrincipal() { accountId }: Principal,
    @Query() query: PageQuery,
  ): Promise<PageFields & { keyword_alerts: object[] }> {
    const found = await this.alerts.list(accountId, query);
    return { keyword_alerts: found.items.map(present), ...pageFields(PATH, query, found) };
  }
}

function present(alert: KeywordAlert) {
  return {
    id: alert.id,
    recording_id: alert.recordingId,
    keyword: alert.keyword,
    said_at: alert.saidAt,
    created_at: resourceTime(alert.createdAt),
    recording_uri: `/v1/recordings/${alert.recordingId}`,
  };
}
