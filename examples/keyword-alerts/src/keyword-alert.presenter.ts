import { ApiProperty } from '@nestjs/swagger';
import { eventTime, PageFields, pageFields, type PageResult, resourceTime } from 'voice-note-transcription-service';
import type { KeywordAlert } from './keyword-alert.entity.js';
import type { ListKeywordAlertsQuery } from './keyword-alerts.dto.js';

export class KeywordAlertView {
  @ApiProperty({ format: 'uuid' })
  id: string;

  @ApiProperty({ format: 'uuid' })
  recording_id: string;

  @ApiProperty({ example: 'invoice' })
  keyword: string;

  /** Seconds from the start of the recording. */
  @ApiProperty({ example: 0.81 })
  said_at: number;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '/v1/recordings/019aa5c2-3b4c-7d5e-9f60-718293a4b5c6' })
  recording_uri: string;
}

export class KeywordAlertPage extends PageFields {
  @ApiProperty({ type: [KeywordAlertView] })
  keyword_alerts: KeywordAlertView[];
}

export function presentKeywordAlertPage(
  query: ListKeywordAlertsQuery,
  found: PageResult<KeywordAlert>,
): KeywordAlertPage {
  return {
    keyword_alerts: found.items.map(presentKeywordAlert),
    ...pageFields('/v1/keyword-alerts', query, found),
  };
}

/** The body of the event `keyword.matched`: one for each transcribed recording in which a keyword was said. */
export function keywordMatchedBody(recordingId: string, alerts: readonly KeywordAlert[]): string {
  return JSON.stringify({
    event: 'keyword.matched',
    timestamp: eventTime(new Date()),
    recording: { id: recordingId },
    keywords: alerts.map(({ keyword, saidAt }) => ({ keyword, said_at: saidAt })),
  });
}

function presentKeywordAlert(alert: KeywordAlert): KeywordAlertView {
  return {
    id: alert.id,
    recording_id: alert.recordingId,
    keyword: alert.keyword,
    said_at: alert.saidAt,
    created_at: resourceTime(alert.createdAt),
    recording_uri: `/v1/recordings/${alert.recordingId}`,
  };
}
