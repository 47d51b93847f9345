import type { Extension } from 'voice-note-transcription-service';
import { KEYWORD_MATCHED } from './keyword-alert.presenter.js';
import { CreateKeywordAlerts1795305600000 } from './keyword-alerts.migration.js';
import { KeywordAlertsModule } from './keyword-alerts.module.js';

/** All that this package adds to the service. */
export const keywordAlerts: Extension = {
  module: KeywordAlertsModule,
  migrations: [CreateKeywordAlerts1795305600000],
  grants: { keyword_alerts: { api: 'SELECT', transcriber: 'SELECT, INSERT, DELETE' } },
  scopes: ['keywords:read'],
  eventKinds: [KEYWORD_MATCHED],
};
